#include "staging/write_queue.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

#include "base/clock.hpp"
#include "dovetail/failure.hpp"
#include "tasking/background.hpp"
#include "trace/trace.hpp"

namespace dovetail::staging {
namespace {

// Enough to be worth waking a worker.
constexpr std::size_t enough = std::size_t{256} << 10;
// Most bytes and extents of one transfer. It ends soon enough for its memory to be used again.
constexpr std::size_t most_bytes = std::size_t{4} << 20;
constexpr std::size_t most_extents = 256;
// Longer ones are written alone: nothing is gained, and one that fails should not take others with it.
constexpr std::size_t largest_joined = std::size_t{64} << 10;
// A write that tells something about the device.
constexpr std::size_t large = std::size_t{1} << 20;
constexpr double fast_bytes_per_second = 1e9;

// On a timeline, a transfer that is no task of its own is shown as one.
class Shown {
 public:
  explicit Shown(const std::string& label) : id_(trace::number_of(this)) { trace::started(id_, label); }
  Shown(const Shown&) = delete;
  Shown& operator=(const Shown&) = delete;
  ~Shown() {
    trace::returned(id_);
    trace::completed(id_);
  }

 private:
  const std::uint64_t id_;
};

}  // namespace

WriteQueue::WriteQueue(Stage& stage, std::string path, int descriptor, std::shared_ptr<ReservedSpace> space)
    : stage_(stage), path_(std::move(path)), file_(File::from_descriptor(descriptor)), space_(std::move(space)) {}

std::string WriteQueue::failure() const {
  if (!failure_) {
    return {};
  }
  if (!failure_->reason.empty()) {
    return failure_->purpose.text() + " in " + path_ + ": " + failure_->reason + "; write the file again";
  }
  std::string text = failure_->purpose.text() + ": cannot write " + std::to_string(failure_->range.length) +
                     " bytes at offset " + std::to_string(failure_->range.offset) + " of " + path_ + ": " +
                     std::generic_category().message(failure_->error) + " (errno " + std::to_string(failure_->error) +
                     "); ";
  if (failure_->error == ENOSPC || failure_->error == EDQUOT) {
    return text + "free space on its file system and write the file again";
  }
  if (failure_->error == EIO) {
    return text + "look at the kernel's log for the device, and write the file again";
  }
  return text + "write the file again";
}

void WriteQueue::fail(Purpose purpose, const std::string& reason) {
  note(Failure{.purpose = std::move(purpose),
               .range = {},
               .error = EIO,
               .reason = reason.empty() ? "the library does not say why" : reason});
}

bool WriteQueue::append(base::ByteRange range, const std::byte* data) {
  if (waiting_.empty()) {
    return false;
  }
  Extent& newest = *waiting_.back();
  if (newest.buffer.data == nullptr || newest.transfers != nullptr || range.offset != newest.range.end() ||
      range.length > newest.buffer.capacity - newest.range.length) {
    return false;
  }
  const std::size_t space = ReservedSpace::blocks_of(newest.range.offset, newest.range.length + range.length);
  if (space > newest.space) {
    if (space_ == nullptr || !space_->take_at_once(space - newest.space)) {
      return false;
    }
    newest.space = space;
  }
  std::byte* const place = newest.buffer.data + newest.range.length;
  std::memcpy(place, data, range.length);
  pending_.insert(range.offset, range.length, place, &newest);
  newest.range.length += range.length;
  waiting_bytes_ += range.length;
  return true;
}

void WriteQueue::push(std::unique_ptr<Extent>&& extent) {
  bool now = false;
  bool later = false;
  {
    const Lock lock(stage_.mutex);
    waiting_.emplace_back();
    try {
      pending_.insert(extent->range.offset, extent->range.length, extent->data, extent.get());
    } catch (const std::bad_alloc&) {
      waiting_.pop_back();
      throw;
    }
    waiting_bytes_ += extent->range.length;
    kept_ += extent->buffer.data == nullptr ? 1U : 0U;
    if (!started_ && !writing_) {
      // With transfers, a thread waits for its end.
      now = waiting_bytes_ >= enough || extent->transfers != nullptr;
      later = !now;
      started_ = now;
    }
    waiting_.back() = std::move(extent);
    ++outstanding_;
    ++stage_.outstanding;
  }
  if (now) {
    make_task();
  } else if (later && !stage_.start_soon()) {
    run();
  }
}

bool WriteQueue::fast() const noexcept { return bytes_per_second_ > fast_bytes_per_second; }

bool WriteQueue::help() {
  if (writing_ || waiting_.empty()) {
    return false;
  }
  writing_ = true;
  {
    const Shown shown(trace::enabled() ? waiting_.front()->purpose.text() : std::string());
    write_some();
  }
  writing_ = false;
  if (!waiting_.empty()) {
    // The thread that waited may have no reason to go on.
    if (waiting_bytes_ >= enough) {
      start();
    } else {
      const Unlocked unlocked(stage_.mutex);
      stage_.start_soon();
    }
  }
  return true;
}

bool WriteQueue::start() {
  if (started_ || writing_ || waiting_.empty()) {
    return false;
  }
  started_ = true;
  const Unlocked unlocked(stage_.mutex);
  make_task();
  return true;
}

void WriteQueue::make_task() {
  std::string label;
  {
    const Lock lock(stage_.mutex);
    label = waiting_.empty() ? std::string("writing") : waiting_.front()->purpose.text();
  }
  if (tasking::spawn_in_background({.label = label, .io = true, .on_failure = ignore_failure},
                                   [self = shared_from_this()] { self->run(); })) {
    return;
  }
  run();  // here and now, then: the threads behind wait
  const Lock lock(stage_.mutex);
  ++stage_.statistics.foreground["no task could be made"];
}

// As a task, until nothing is left; what comes later makes another one.
void WriteQueue::run() {
  Lock lock(stage_.mutex);
  while (!writing_ && !waiting_.empty()) {
    writing_ = true;
    write_some();
    writing_ = false;
    // The trace shows each name as a task of its own.
    if (trace::enabled() && !waiting_.empty()) {
      lock.unlock();
      make_task();
      return;
    }
  }
  started_ = false;
  lock.unlock();
  stage_.tidy_when_idle();
}

// The extents of one transfer.
WriteQueue::Batch WriteQueue::take() {
  const bool traced = trace::enabled();
  Batch batch;
  std::size_t bytes = 0;
  while (!waiting_.empty() && batch.size() < most_extents) {
    const Extent& next = *waiting_.front();
    if (!batch.empty() &&
        (bytes + next.range.length > most_bytes || (traced && next.purpose != batch.front()->purpose))) {
      break;
    }
    bytes += next.range.length;
    batch.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  waiting_bytes_ -= bytes;
  return batch;
}

// By the thread that writes.
void WriteQueue::write_some() {
  Batch batch = take();
  const std::uint64_t begin = base::nanoseconds();
  Failures failures;
  {
    const Unlocked unlocked(stage_.mutex);
    const base::Overlap::Work work(stage_.overlap);
    failures = write(batch);
  }
  const auto failed = std::ranges::find_if(failures, [](const auto& failure) { return failure.has_value(); });
  if (failed != failures.end()) {
    note(**failed);
  }
  Calls tell;
  ended(batch, failures, begin, tell);
  if (!tell.empty()) {
    const Unlocked unlocked(stage_.mutex);
    for (const auto& call : tell) {
      call();
    }
  }
}

std::optional<WriteQueue::Failure> WriteQueue::attempt(Extents neighbours) const {
  const std::uint64_t begin = neighbours.front()->range.offset;
  const std::uint64_t end = neighbours.back()->range.end();
  Failure failure{};
  try {
    if (neighbours.size() == 1) {
      file_.pwrite(std::span(neighbours.front()->data, neighbours.front()->range.length), begin);
      return std::nullopt;
    }
    std::vector<iovec> vectors;
    vectors.reserve(neighbours.size());
    for (const auto& extent : neighbours) {
      vectors.push_back({const_cast<std::byte*>(extent->data), extent->range.length});
    }
    file_.pwritev(vectors, begin);
    return std::nullopt;
  } catch (const IoError& failed) {
    failure.error = failed.code().value();
    failure.range.offset = std::clamp(failed.offset(), begin, end - 1);
  } catch (const std::exception&) {
    failure.error = ENOMEM;
    failure.range.offset = begin;
  }
  return failure;
}

// The space that was reserved for the bytes is given back when they need it.
std::optional<WriteQueue::Failure> WriteQueue::transfer(Extents neighbours) const {
  std::optional<Failure> failure = attempt(neighbours);
  if (!failure || space_ == nullptr || (failure->error != ENOSPC && failure->error != EDQUOT)) {
    return failure;
  }
  {
    const Lock lock(stage_.mutex);
    space_->yield();
  }
  failure = attempt(neighbours);
  const Lock lock(stage_.mutex);
  space_->written();
  return failure;
}

// Neighbours go in one call. Those behind one that failed are written again.
WriteQueue::Failures WriteQueue::write(const Batch& batch) const {
  Failures failures(batch.size());
  for (std::size_t first = 0; first < batch.size();) {
    std::size_t next = first + 1;
    while (next < batch.size() && batch[next]->range.offset == batch[next - 1]->range.end() &&
           batch[next]->range.length <= largest_joined) {
      ++next;
    }
    const std::optional<Failure> failure = transfer(std::span(batch).subspan(first, next - first));
    if (!failure) {
      first = next;
      continue;
    }
    while (failure->range.offset >= batch[first]->range.end()) {
      ++first;
    }
    const Extent& culprit = *batch[first];
    failures[first] = failure;
    failures[first]->range.length = static_cast<std::size_t>(culprit.range.end() - failure->range.offset);
    failures[first]->purpose = culprit.purpose;
    ++first;
  }
  return failures;
}

void WriteQueue::ended(Batch& batch, const Failures& failures, std::uint64_t begin, Calls& tell) {
  const std::uint64_t end = base::nanoseconds();
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto& extent = batch[i];
    bytes += extent->range.length;
    lost_.remove(extent->range.offset, extent->range.length);
    if (failures[i]) {
      lost_.add(failures[i]->range.offset, failures[i]->range.length);
    }
    pending_.remove(extent->range.offset, extent->range.length, extent.get());
    if (extent->space != 0) {
      space_->give_back(extent->space);
    }
    if (extent->buffer.data != nullptr) {
      stage_.pool.give_back(extent->buffer);
    } else {
      --kept_;
    }
    if (extent->transfers != nullptr) {
      extent->transfers->one_ended(failures[i] ? failure() : std::string(), end, tell);
    }
  }
  if (bytes >= large && end > begin) {
    const double rate = static_cast<double>(bytes) * 1e9 / static_cast<double>(end - begin);
    bytes_per_second_ = bytes_per_second_ == 0 ? rate : 0.75 * bytes_per_second_ + 0.25 * rate;
  }
  outstanding_ -= batch.size();
  stage_.outstanding -= batch.size();
  stage_.notify();
}

// The first one is said, since the program may never ask. It is said before a thread that waits for the writes goes on, which may end the process.
void WriteQueue::note(Failure failure) {
  if (failure_) {
    return;
  }
  failure_ = std::move(failure);
  ++stage_.failures;
  const std::string text = this->failure();
  const Unlocked unlocked(stage_.mutex);
  std::fprintf(stderr, "dovetail: %s\n", text.c_str());
}

}  // namespace dovetail::staging
