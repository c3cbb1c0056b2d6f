#include "staging/staged_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "tasking/background.hpp"

namespace dovetail::staging {
namespace {

// Up to this many bytes are appended to a write that still waits, with the lock held.
constexpr std::size_t largest_appended = std::size_t{32} << 10;
constexpr std::size_t page = 4096;
// Reserving space for a file that stays so small, and waking a thread that writes it, costs more than writing it to the page cache.
constexpr std::size_t small_file = std::size_t{64} << 10;

std::shared_ptr<ReservedSpace> space_for(Stage& stage, const OpenedFile& opened, const device::Device& device) {
  if (!opened.writable || !device.reserves_space) {
    return nullptr;
  }
  const Lock lock(stage.mutex);
  return ReservedSpace::of(stage, opened.device, opened.descriptor, opened.path);
}

std::string because(int error) {
  return std::generic_category().message(error) + " (errno " + std::to_string(error) + ')';
}

}  // namespace

StagedFile::StagedFile(Stage& stage, OpenedFile opened)
    : stage_(stage),
      opened_(std::move(opened)),
      counted_(device::device_of(opened_.device, opened_.descriptor)),
      generation_(stage.generation()),
      size_(opened_.size),
      beginning_left_(counted_.caches_writes ? small_file : 0),
      space_(space_for(stage, opened_, counted_)),
      queue_(std::make_shared<WriteQueue>(stage, opened_.path, opened_.descriptor, space_)) {
  const Lock lock(stage_.mutex);
  for (Participant* participant : stage_.participants) {
    auto* const other = dynamic_cast<StagedFile*>(participant);
    if (other != nullptr && other->device() == device() && other->inode() == inode()) {
      other->shared_ = true;
      shared_ = true;
    }
  }
  stage_.participants.push_back(this);
}

StagedFile::~StagedFile() {
  std::uint64_t waited = 0;
  close(waited);
}

std::string StagedFile::close(std::uint64_t& waited) {
  if (opened_.descriptor < 0) {
    return {};
  }
  std::string failed = settle(waited);
  {
    const Lock lock(stage_.mutex);
    std::erase(stage_.participants, this);
    if (space_ != nullptr) {
      space_->leave();
    }
  }
  if (::close(std::exchange(opened_.descriptor, -1)) != 0) {
    fail({.call = "close", .object = nullptr}, because(errno));
    failed = failure();
  }
  stage_.tidy_when_idle();
  return failed;
}

bool StagedFile::help() {
  if (foreign()) {
    return false;
  }
  const std::shared_ptr<WriteQueue> queue = queue_;  // a thread that closes the file may be waiting for this
  if (queue->help()) {
    return true;
  }
  const auto found = std::ranges::find_if(reads_, [](const auto& read) { return read->claim.take(); });
  if (found == reads_.end()) {
    return false;
  }
  const auto read = std::shared_ptr<Read>(*found);
  const Unlocked unlocked(stage_.mutex);
  make_read(read);
  return true;
}

bool StagedFile::start() {
  const std::shared_ptr<WriteQueue> queue = queue_;
  return !foreign() && queue->start();
}

Answer StagedFile::write(base::ByteRange range, const std::byte* data, const WriteRequest& how) {
  if (!writable()) {
    return {EBADF, range.offset};
  }
  if (to_be_cut_) {
    settle(&Statistics::waited_for_transfers);
  }
  const std::uint64_t size = std::exchange(size_, std::max(size_, range.end()));
  const Answer answer = foreign() ? write_as_child(range, data, how) : write_behind(range, data, how);
  if (answer.error != 0) {
    size_ = size;
  }
  return answer;
}

// The child must see what the parent writes as well, for as long as it lives.
Answer StagedFile::write_as_child(base::ByteRange range, const std::byte* data, const WriteRequest& how) {
  if (how.shared) {
    auto copy = std::make_unique<std::byte[]>(range.length);
    std::memcpy(copy.get(), data, range.length);
    const Lock lock(stage_.mutex);
    queue_->pending().insert(range.offset, range.length, copy.release(), nullptr);
    return {};
  }
  const Answer answer = write_now(range, data, "in the child of a fork");
  const Lock lock(stage_.mutex);
  queue_->pending().erase(range.offset, range.length);
  return answer;
}

Answer StagedFile::write_behind(base::ByteRange range, const std::byte* data, const WriteRequest& how) {
  {
    const Lock lock(stage_.mutex);
    ++changes_;
    settle_others();
    wait_for_reads(range);
    if (range.length <= largest_appended && how.transfers == nullptr && queue_->append(range, data)) {
      stage_.statistics.bytes_copied += range.length;
      return {};
    }
  }
  if (const char* reason = reason_to_write_at_once(range, how)) {
    return write_unreserved(range, data, reason);
  }
  if (!how.kept && copies_gain_nothing()) {
    return write_in_place(range, data, "the file takes bytes as fast as copies are made");
  }
  while (range.length > 0) {
    // Pieces end where pages of the file do.
    const std::size_t most = BufferPool::largest - static_cast<std::size_t>(range.offset % page);
    const base::ByteRange piece{range.offset,
                                how.kept ? range.length : BufferPool::piece_of(std::min(range.length, most))};
    const std::size_t space = ReservedSpace::blocks_of(piece.offset, piece.length);
    if (!take_space(space)) {
      return write_unreserved(range, data, "no room on the file system");
    }
    if (!write_piece(piece, data, how, space)) {
      return write_in_place(range, data,
                            fast_ ? "the file takes bytes as fast as copies are made" : "no memory for a copy");
    }
    range = {piece.end(), range.length - piece.length};
    data += piece.length;
  }
  return {};
}

bool StagedFile::take_space(std::size_t bytes) {
  const Lock lock(stage_.mutex);
  return space_->take(bytes);
}

bool StagedFile::promise_space(std::size_t bytes) {
  const Lock lock(stage_.mutex);
  return !foreign() && space_ != nullptr && space_->promise(bytes);
}

void StagedFile::forget_promise(std::size_t bytes) noexcept {
  const Lock lock(stage_.mutex);
  if (!foreign() && space_ != nullptr) {
    space_->release(bytes);
  }
}

// None where the program had better write its own memory.
Buffer StagedFile::take_buffer(std::size_t length) {
  Buffer buffer;
  const Lock lock(stage_.mutex);
  stage_.wait(stage_.statistics.waited_for_space, [&]() REQUIRES(stage_lock) {
    fast_ = queue_->fast() && !queue_->empty();
    buffer = stage_.pool.take(length, fast_);
    // With nothing out there is nothing to wait for: the machine has no memory.
    return buffer.data != nullptr || fast_ || stage_.pool.taken() == 0;
  });
  return buffer;
}

// False: there is no buffer, and waiting for one would not help.
bool StagedFile::write_piece(base::ByteRange range, const std::byte* data, const WriteRequest& how, std::size_t space) {
  auto extent = std::make_unique<WriteQueue::Extent>();
  extent->range = range;
  extent->data = data;
  extent->purpose = how.purpose;
  extent->space = space;
  if (!how.kept) {
    extent->buffer = take_buffer(range.length);
    if (extent->buffer.data == nullptr) {
      const Lock lock(stage_.mutex);
      space_->give_back(space);
      return false;
    }
    std::memcpy(extent->buffer.data, data, range.length);
    extent->data = extent->buffer.data;
  }
  {
    const Lock lock(stage_.mutex);
    if (how.transfers != nullptr) {
      extent->transfers = how.transfers;
      ++how.transfers->outstanding;
    }
    ++stage_.statistics.writes;
    (how.kept ? stage_.statistics.bytes_kept : stage_.statistics.bytes_copied) += range.length;
  }
  try {
    queue_->push(std::move(extent));
  } catch (const std::bad_alloc&) {
    const Lock lock(stage_.mutex);
    if (extent->buffer.data != nullptr) {
      stage_.pool.give_back(extent->buffer);
    }
    space_->give_back(space);
    if (extent->transfers != nullptr) {
      --extent->transfers->outstanding;
    }
    throw;
  }
  return true;
}

Answer StagedFile::read_pending(base::ByteRange range, std::byte* target, std::vector<base::ByteRange>& gaps,
                                bool& quiet) {
  if (to_be_cut_) {
    settle(&Statistics::waited_for_transfers);
  }
  const Lock lock(stage_.mutex);
  settle_others();
  quiet = queue_->empty();
  if (queue_->pending().empty()) {
    gaps.push_back(range);
  } else {
    const std::size_t first = gaps.size();
    queue_->pending().copy(range, target, gaps);
    stage_.statistics.bytes_from_pending += range.length;
    for (std::size_t i = first; i < gaps.size(); ++i) {
      stage_.statistics.bytes_from_pending -= gaps[i].length;
    }
  }
  for (const base::ByteRange& gap : gaps) {
    if (const int error = queue_->loss_in(gap); error != 0) {
      return {error, gap.offset};
    }
  }
  return {};
}

Answer StagedFile::read(base::ByteRange range, std::byte* target) const {
  while (range.length > 0) {
    const ssize_t got = ::pread(descriptor(), target, range.length, static_cast<off_t>(range.offset));
    if (got < 0 && errno != EINTR) {
      return {errno, range.offset};
    }
    if (got == 0) {
      std::memset(target, 0, range.length);
      return {};
    }
    if (got > 0) {
      counted_.moved(device::Direction::read, static_cast<std::uint64_t>(got));
      target += got;
      range = {range.offset + static_cast<std::uint64_t>(got), range.length - static_cast<std::size_t>(got)};
    }
  }
  return {};
}

bool StagedFile::read_later(base::ByteRange range, std::byte* target, const Purpose& purpose,
                            const std::shared_ptr<Transfers>& transfers) {
  if (foreign()) {
    return false;
  }
  std::string label;
  const auto read = std::make_shared<Read>(range, target, purpose, transfers);
  {
    const Lock lock(stage_.mutex);
    label = purpose.text();
    reads_.push_back(read);
    ++transfers->outstanding;
    ++stage_.outstanding;
  }
  const auto body = [this, read] {
    if (read->claim.take()) {
      make_read(read);
    }
  };
  if (!tasking::spawn_in_background({.label = label, .io = true, .on_failure = ignore_failure}, body)) {
    body();
  }
  return true;
}

// The file may be gone when this returns.
void StagedFile::make_read(const std::shared_ptr<Read>& done) {
  const Answer answer = [&] {
    const base::Overlap::Work work(stage_.overlap);
    return read(done->range, done->target);
  }();
  Calls tell;
  {
    const Lock lock(stage_.mutex);
    std::string failed;
    if (answer.error != 0) {
      failed = done->purpose.text() + ": cannot read " + path() + " at offset " + std::to_string(answer.offset) + ": " +
               because(answer.error);
    }
    done->transfers->one_ended(failed, base::nanoseconds(), tell);
    reads_.remove(done);
    --stage_.outstanding;
    stage_.notify();
  }
  done->claim.end();
  for (const auto& call : tell) {
    call();
  }
}

void StagedFile::wait_for_reads(base::ByteRange range) noexcept {
  if (!reads_.empty()) {
    stage_.wait(
        stage_.statistics.waited_for_transfers,
        [&]() REQUIRES(stage_lock) {
          return std::ranges::none_of(reads_, [&](const auto& read) { return read->range.overlaps(range); });
        },
        this);
  }
}

void StagedFile::settle_others() noexcept {
  if (!shared_) {
    return;
  }
  stage_.wait(stage_.statistics.waited_for_transfers, [this]() REQUIRES(stage_lock) {
    return std::ranges::all_of(stage_.participants, [this](const Participant* participant) REQUIRES(stage_lock) {
      const auto* const other = dynamic_cast<const StagedFile*>(participant);
      return other == nullptr || other == this || other->device() != device() || other->inode() != inode() ||
             other->settled();
    });
  });
}

// Behind all writes: rare, and nearly always part of a close.
Answer StagedFile::set_size(std::uint64_t size, std::uint64_t& waited, bool later) {
  if (size == size_) {
    return {};
  }
  // Bytes that a pending cut takes away must not come back when the file grows again.
  const bool grows_after_a_cut = to_be_cut_ && size > size_;
  const std::string failed = later && !grows_after_a_cut ? failure() : settle(waited);
  struct stat status{};
  // After a failure nothing is cut off: what should have replaced it may be what is missing.
  if (!failed.empty() && !foreign() &&
      (fstat(descriptor(), &status) != 0 || static_cast<std::uint64_t>(status.st_size) >= size)) {
    return {};
  }
  const std::uint64_t before = std::exchange(size_, size);
  if (later && !foreign()) {
    to_be_cut_ = true;
    return {};
  }
  const int error = cut();
  if (error == 0) {
    return {};
  }
  size_ = before;
  return {error, size};
}

// When nothing is on its way.
int StagedFile::cut() noexcept {
  {
    const Lock lock(stage_.mutex);
    queue_->pending().erase(size_, UINT64_MAX - size_);
    ++changes_;
  }
  return ::ftruncate(descriptor(), static_cast<off_t>(size_)) == 0 ? 0 : errno;
}

std::string StagedFile::settle(std::uint64_t Statistics::* counter) {
  std::uint64_t waited = 0;
  std::string failed = settle(waited);
  const Lock lock(stage_.mutex);
  stage_.statistics.*counter += waited;
  return failed;
}

std::string StagedFile::settle(std::uint64_t& waited) {
  std::string failed;
  {
    const Lock lock(stage_.mutex);
    stage_.wait(waited, [this]() REQUIRES(stage_lock) { return settled(); }, this);
    failed = queue_->failure();
  }
  const auto shorter = [this] {
    struct stat status{};
    return !foreign() && fstat(descriptor(), &status) == 0 && static_cast<std::uint64_t>(status.st_size) < size_;
  };
  // A missing end would make the file unreadable as a whole. So after a failure it becomes longer, but not shorter.
  if (failed.empty() ? std::exchange(to_be_cut_, false) : shorter()) {
    if (const int error = cut(); error != 0) {
      fail({.call = "cutting", .object = nullptr},
           "cannot make it " + std::to_string(size_) + " bytes long: " + because(error));
      failed = failure();
    }
  }
  return failed;
}

std::string StagedFile::failure() const {
  const Lock lock(stage_.mutex);
  return queue_->failure();
}

void StagedFile::fail(Purpose purpose, const std::string& reason) {
  const Lock lock(stage_.mutex);
  queue_->fail(std::move(purpose), reason);
}

std::string StagedFile::make_durable(std::uint64_t& waited) {
  std::uint64_t changes = 0;
  {
    const Lock lock(stage_.mutex);
    changes = changes_;  // others may write meanwhile
  }
  std::string failed = settle(waited);
  if (failed.empty() && ::fdatasync(descriptor()) != 0) {
    failed = "cannot make " + path() + " durable: " + because(errno);
  }
  if (failed.empty()) {
    const Lock lock(stage_.mutex);
    durable_changes_ = changes;
  }
  return failed;
}

bool StagedFile::memory_reusable() const {
  const Lock lock(stage_.mutex);
  return foreign() || !queue_->needs_memory();
}

bool StagedFile::durable() const {
  const Lock lock(stage_.mutex);
  return durable_changes_ == changes_;
}

}  // namespace dovetail::staging
