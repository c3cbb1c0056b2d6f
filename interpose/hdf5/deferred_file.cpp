#include "deferred_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <new>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "settings.hpp"

namespace dovetail::hdf5 {
namespace {

// Up to this many bytes are appended to a write that still waits, with the lock held.
constexpr std::size_t largest_appended = std::size_t{32} << 10;
constexpr std::size_t page = 4096;

std::shared_ptr<Room> room_of(dev_t device, int descriptor, const std::string& path) {
  const Lock lock(Background::instance().mutex);
  return Room::of(device, descriptor, path);
}

}  // namespace

DeferredFile::DeferredFile(std::string path, int descriptor, bool writable, dev_t device, ino_t inode,
                           std::uint64_t size)
    : path_(std::move(path)),
      handle_{descriptor},
      writable_(writable),
      device_(device),
      inode_(inode),
      generation_(Background::instance().generation()),
      size_(size),
      flush_waits_(settings().flush_waits),
      room_(writable ? room_of(device, descriptor, path_) : nullptr),
      queue_(std::make_shared<WriteQueue>(path_, descriptor, room_)),
      read_ahead_(descriptor, settings().read_ahead) {
  Background& background = Background::instance();
  const Lock lock(background.mutex);
  for (DeferredFile* other : background.files) {
    if (other->device_ == device && other->inode_ == inode) {
      other->shared_ = true;
      other->read_ahead_.stop();
      shared_ = true;
      read_ahead_.stop();
    }
  }
  background.files.push_back(this);
}

DeferredFile::~DeferredFile() {
  settle(Cause::close);
  Background& background = Background::instance();
  Lock lock(background.mutex);
  if (!foreign()) {
    read_ahead_.stop();
    background.wait(lock, Cause::close, [&] { return read_ahead_.idle(); });
  }
  std::erase(background.files, this);
  if (room_ != nullptr && !foreign()) {
    room_->leave();
  }
  lock.unlock();
  background.tidy_when_idle();
}

Answer DeferredFile::write(std::uint64_t offset, const std::byte* data, std::size_t length) {
  if (!writable_) {
    return {EBADF, offset};  // HDF5 tries, in H5Ocopy, and counts on being refused
  }
  const std::uint64_t size = std::exchange(size_, std::max(size_, offset + length));
  const Answer answer = foreign() ? write_as_child(offset, data, length) : write_behind(offset, data, length);
  if (answer.error != 0) {
    size_ = size;
  }
  return answer;
}

Answer DeferredFile::write_as_child(std::uint64_t offset, const std::byte* data, std::size_t length) {
  if (current_operation().postponed) {
    keep_copy(offset, data, length);
    return {};
  }
  const Answer answer = write_now(offset, data, length, "in the child of a fork");
  const Lock lock(Background::instance().mutex);
  queue_->pending().erase(offset, length);
  return answer;
}

Answer DeferredFile::write_behind(std::uint64_t offset, const std::byte* data, std::size_t length) {
  {
    Background& background = Background::instance();
    Lock lock(background.mutex);
    ++changes_;
    settle_others(lock);
    wait_for_reads(lock, {offset, length});
    read_ahead_.forget({offset, length});
    if (length <= largest_appended && !current_operation().asynchronous && queue_->append(offset, data, length)) {
      background.report.bytes_copied += length;
      return {};
    }
  }
  if (const char* reason = reason_to_write_at_once(offset + length)) {
    return write_without_room(offset, data, length, reason);
  }
  const bool promised = current_operation().promised(data, length);
  if (!promised && copies_gain_nothing()) {
    return write_in_place(offset, data, length, Cause::budget, "the file takes bytes as fast as copies are made");
  }
  while (length > 0) {
    // Pieces end where pages of the file do.
    const std::size_t most = promised ? length : BufferPool::largest - static_cast<std::size_t>(offset % page);
    const std::size_t piece = promised ? length : BufferPool::piece_of(std::min(length, most));
    const std::size_t room = Room::blocks_of(offset, piece);
    if (!take_room(room)) {
      return write_without_room(offset, data, length, "no room on the file system");
    }
    if (!write_piece(offset, data, piece, promised, room)) {
      return write_in_place(offset, data, length, Cause::budget,
                            fast_ ? "the file takes bytes as fast as copies are made" : "no memory for a copy");
    }
    offset += piece;
    data += piece;
    length -= piece;
  }
  return {};
}

bool DeferredFile::take_room(std::size_t bytes) {
  Lock lock(Background::instance().mutex);
  return room_->take(lock, bytes);
}

bool DeferredFile::promise_room(std::size_t bytes) {
  Lock lock(Background::instance().mutex);
  return !foreign() && room_ != nullptr && room_->promise(lock, bytes);
}

void DeferredFile::forget_promise(std::size_t bytes) noexcept {
  const Lock lock(Background::instance().mutex);
  if (!foreign() && room_ != nullptr) {
    room_->release(bytes);
  }
}

// What the parent had called, and HDF5 has yet to see in both processes: the parent writes it, and the child must see it. For as
// long as the child lives.
void DeferredFile::keep_copy(std::uint64_t offset, const std::byte* data, std::size_t length) {
  auto copy = std::make_unique<std::byte[]>(length);
  std::memcpy(copy.get(), data, length);
  const Lock lock(Background::instance().mutex);
  queue_->pending().insert(offset, length, copy.release(), nullptr);
}

// None where the program had better write its own memory.
Buffer DeferredFile::take_buffer(std::size_t length) {
  Background& background = Background::instance();
  Buffer buffer;
  Lock lock(background.mutex);
  background.wait(lock, Cause::budget, [&] {
    fast_ = queue_->fast() && !queue_->empty();
    buffer = background.pool.take(length, fast_);
    // With nothing out there is nothing to wait for: the machine has no memory.
    return buffer.data != nullptr || fast_ || background.pool.taken() == 0;
  });
  return buffer;
}

// False: there is no buffer, and waiting for one would not help.
bool DeferredFile::write_piece(std::uint64_t offset, const std::byte* data, std::size_t length, bool promised,
                               std::size_t room) {
  Background& background = Background::instance();
  Operation& operation = current_operation();
  auto extent = std::make_unique<WriteQueue::Extent>();
  extent->offset = offset;
  extent->length = length;
  extent->data = data;
  extent->call = operation.call;
  extent->name = operation.subject();
  extent->room = room;
  if (!promised) {
    extent->buffer = take_buffer(length);
    if (extent->buffer.data == nullptr) {
      const Lock lock(background.mutex);
      room_->give_back(room);
      return false;
    }
    std::memcpy(extent->buffer.data, data, length);
    extent->data = extent->buffer.data;
  }
  {
    const Lock lock(background.mutex);
    if (operation.asynchronous) {
      extent->transfers = operation.begin_transfer();
      ++extent->transfers->outstanding;
    }
    ++background.report.writes;
    (promised ? background.report.bytes_promised : background.report.bytes_copied) += length;
  }
  try {
    queue_->push(std::move(extent));
  } catch (const std::bad_alloc&) {
    const Lock lock(background.mutex);
    if (extent->buffer.data != nullptr) {
      background.pool.give_back(extent->buffer);
    }
    room_->give_back(room);
    if (extent->transfers != nullptr) {
      --extent->transfers->outstanding;
    }
    throw;
  }
  return true;
}

Answer DeferredFile::read_now(std::uint64_t offset, std::byte* target, std::size_t length) {
  while (length > 0) {
    const ssize_t got = ::pread(descriptor(), target, length, static_cast<off_t>(offset));
    if (got < 0 && errno != EINTR) {
      return {errno, offset};
    }
    if (got == 0) {
      std::memset(target, 0, length);
      return {};
    }
    if (got > 0) {
      target += got;
      offset += static_cast<std::uint64_t>(got);
      length -= static_cast<std::size_t>(got);
    }
  }
  return {};
}

Answer DeferredFile::read(std::uint64_t offset, std::byte* target, std::size_t length, bool raw) {
  std::vector<Range> gaps;
  bool written = false;
  {
    Background& background = Background::instance();
    Lock lock(background.mutex);
    settle_others(lock);
    written = queue_->empty();
    if (queue_->pending().empty()) {
      gaps.push_back({offset, length});
    } else {
      queue_->pending().copy({offset, length}, target, gaps);
      std::size_t missing = 0;
      for (const Range& gap : gaps) {
        missing += gap.length;
      }
      background.report.bytes_from_pending += length - missing;
    }
    for (const Range& gap : gaps) {
      if (const int error = queue_->loss_in(gap); error != 0) {
        return {error, gap.offset};
      }
    }
  }
  const bool later = raw && reads_may_go_on_ && !foreign() && current_operation().asynchronous &&
                     current_operation().promised(target, length);
  const bool ahead = raw && !foreign();
  const std::uint64_t begun = ahead ? now() : 0;
  for (const Range& gap : gaps) {
    std::byte* const place = target + (gap.offset - offset);
    if (later && read_later(gap, place)) {
      continue;
    }
    const std::size_t fetched = foreign() ? 0 : take_fetched(gap, place);
    if (const Answer answer = read_now(gap.offset + fetched, place + fetched, gap.length - fetched);
        answer.error != 0) {
      return answer;
    }
  }
  // What is fetched comes from the file: nothing may be on its way there. Writes from now on are told to the read-ahead.
  if (ahead && !later && written) {
    read_ahead_.follow({offset, length}, size_, begun);
  }
  return {};
}

std::size_t DeferredFile::take_fetched(Range range, std::byte* target) {
  {
    const Lock lock(Background::instance().mutex);
    if (read_ahead_.empty()) {
      return 0;
    }
  }
  const FileVersion version = FileVersion::of(descriptor());
  Lock lock(Background::instance().mutex);
  return read_ahead_.serve(lock, version, range, target);
}

void DeferredFile::never_reads_ahead() noexcept {
  const Lock lock(Background::instance().mutex);
  read_ahead_.stop();
}

Answer DeferredFile::set_size(std::uint64_t size) {
  if (size == size_) {
    return {};
  }
  // Rare, and nearly always part of a close: an ordinary call behind all writes. After a failure nothing is cut off: what should have
  // replaced it may be what is missing.
  struct stat status{};
  if (!settle(Cause::truncate).empty() && !foreign() &&
      (fstat(descriptor(), &status) != 0 || static_cast<std::uint64_t>(status.st_size) >= size)) {
    return {};
  }
  {
    const Lock lock(Background::instance().mutex);
    read_ahead_.forget({0, SIZE_MAX});
    if (size < size_) {
      queue_->pending().erase(size, UINT64_MAX - size);
    }
  }
  if (ftruncate(descriptor(), static_cast<off_t>(size)) != 0) {
    return {errno, size};
  }
  size_ = size;
  const Lock lock(Background::instance().mutex);
  ++changes_;
  return {};
}

std::uint64_t DeferredFile::size() { return size_; }

std::string DeferredFile::settle(Cause cause) {
  Background& background = Background::instance();
  Lock lock(background.mutex);
  background.wait(lock, cause, [&] { return settled(); });
  const std::string failure = queue_->failure();
  lock.unlock();
  if (!failure.empty()) {
    lengthen_to_size();
  }
  return failure;
}

// What is missing at the end would make the file unreadable as a whole. The failure itself is told in any case.
void DeferredFile::lengthen_to_size() noexcept {
  struct stat status{};
  if (!foreign() && fstat(descriptor(), &status) == 0 && static_cast<std::uint64_t>(status.st_size) < size_) {
    const int ignored = ftruncate(descriptor(), static_cast<off_t>(size_));
    static_cast<void>(ignored);
  }
}

std::string DeferredFile::failure() const {
  const Lock lock(Background::instance().mutex);
  return queue_->failure();
}

bool DeferredFile::has_lost(const H5O_token_t& token) const {
  return std::ranges::any_of(lost_,
                             [&](const H5O_token_t& lost) { return std::memcmp(&lost, &token, sizeof token) == 0; });
}

void DeferredFile::fail(const char* call, SharedName name, const std::string& reason) {
  std::vector<std::function<void()>> tell;
  {
    const Lock lock(Background::instance().mutex);
    queue_->fail(call, std::move(name), reason, tell);
  }
  for (const auto& say : tell) {
    say();
  }
}

std::string DeferredFile::make_durable() {
  std::uint64_t changes = 0;
  {
    const Lock lock(Background::instance().mutex);
    changes = changes_;  // others may write meanwhile
  }
  std::string failed = settle(Cause::request);
  if (failed.empty() && ::fdatasync(descriptor()) != 0) {
    const int error = errno;
    failed = "cannot make " + path_ + " durable: " + std::generic_category().message(error) + " (errno " +
             std::to_string(error) + ')';
  }
  if (failed.empty()) {
    const Lock lock(Background::instance().mutex);
    durable_changes_ = changes;
  }
  return failed;
}

bool DeferredFile::memory_reusable() const {
  const Lock lock(Background::instance().mutex);
  return foreign() || !queue_->needs_memory();
}

bool DeferredFile::durable() const {
  const Lock lock(Background::instance().mutex);
  return durable_changes_ == changes_;
}

// Into memory that the caller leaves alone until it is told. False: there can be no task.
bool DeferredFile::read_later(Range range, std::byte* target) {
  Background& background = Background::instance();
  const std::shared_ptr<Transfers> transfers = current_operation().begin_transfer();
  std::list<Range>::iterator entry;
  {
    const Lock lock(background.mutex);
    entry = reads_.insert(reads_.end(), range);
    ++transfers->outstanding;
  }
  auto body = [this, entry, target, transfers, label = current_operation().label()] {
    const std::uint64_t begin = now();
    const Answer answer = read_now(entry->offset, target, entry->length);
    std::string failed;
    if (answer.error != 0) {
      failed = label + ": cannot read " + path_ + " at offset " + std::to_string(answer.offset) + ": " +
               std::generic_category().message(answer.error) + " (errno " + std::to_string(answer.error) + ')';
    }
    std::vector<std::function<void()>> tell;
    {
      Background& here = Background::instance();
      const Lock lock(here.mutex);
      const std::uint64_t end = now();
      here.report.transfer_time += end - begin;
      transfers->one_ended(failed, end, tell);
      reads_.erase(entry);
      here.announce();
    }
    for (const auto& say : tell) {
      say();
    }
  };
  if (background.spawn(current_operation().label(), std::move(body))) {
    return true;
  }
  const Lock lock(background.mutex);
  reads_.erase(entry);
  --transfers->outstanding;
  return false;
}

void DeferredFile::wait_for_reads(Lock& lock, Range range) noexcept {
  if (!reads_.empty()) {
    Background::instance().wait(lock, Cause::read, [&] {
      return std::none_of(reads_.begin(), reads_.end(), [&](const Range& read) { return read.overlaps(range); });
    });
  }
}

void DeferredFile::settle_others(Lock& lock) noexcept {
  Background& background = Background::instance();
  if (!shared_) {
    return;
  }
  background.wait(lock, Cause::read, [&] {
    return std::all_of(background.files.begin(), background.files.end(), [&](const DeferredFile* other) {
      return other == this || other->device_ != device_ || other->inode_ != inode_ || other->settled();
    });
  });
}

}  // namespace dovetail::hdf5
