#include "write_queue.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <new>
#include <span>
#include <system_error>
#include <utility>

#include "trace/trace.hpp"

namespace dovetail::hdf5 {
namespace {

// As long as nothing follows, the newest writes wait this long to be written together with what may follow.
constexpr std::chrono::milliseconds gathering_time{2};
// Enough to be worth waking somebody.
constexpr std::size_t enough = std::size_t{256} << 10;
// Most bytes and extents of one transfer. It ends soon enough for its memory to be used again.
constexpr std::size_t most_bytes = std::size_t{4} << 20;
constexpr std::size_t most_extents = 256;
// Longer ones are written alone: nothing is gained, and one that fails should not take others with it.
constexpr std::size_t largest_joined = std::size_t{64} << 10;
// A write that tells something about the device.
constexpr std::size_t large = std::size_t{1} << 20;
constexpr double fast_bytes_per_second = 1e9;

}  // namespace

WriteQueue::WriteQueue(std::string path, int descriptor, std::shared_ptr<Room> room)
    : path_(std::move(path)), file_(File::from_descriptor(descriptor)), room_(std::move(room)) {}

std::string WriteQueue::failure() const {
  if (!failure_) {
    return {};
  }
  if (!failure_->reason.empty()) {
    return described(failure_->call, failure_->name.get()) + " in " + path_ + ": " + failure_->reason +
           "; write the file again";
  }
  std::string text = described(failure_->call, failure_->name.get()) + ": cannot write " +
                     std::to_string(failure_->length) + " bytes at offset " + std::to_string(failure_->offset) +
                     " of " + path_ + ": " + std::generic_category().message(failure_->error) + " (errno " +
                     std::to_string(failure_->error) + "); ";
  if (failure_->error == ENOSPC || failure_->error == EDQUOT) {
    return text + "free space on its file system and write the file again";
  }
  if (failure_->error == EIO) {
    return text + "look at the kernel's log for the device, and write the file again";
  }
  return text + "write the file again";
}

void WriteQueue::fail(const char* call, SharedName name, const std::string& reason,
                      std::vector<std::function<void()>>& tell) {
  note(Failure{.call = call,
               .name = std::move(name),
               .error = EIO,
               .reason = reason.empty() ? "HDF5 does not say why" : reason},
       tell);
}

bool WriteQueue::append(std::uint64_t offset, const std::byte* data, std::size_t length) {
  if (waiting_.empty()) {
    return false;
  }
  Extent& newest = *waiting_.back();
  if (newest.buffer.data == nullptr || newest.transfers != nullptr || offset != newest.offset + newest.length ||
      length > newest.buffer.capacity - newest.length) {
    return false;
  }
  const std::size_t room = Room::blocks_of(newest.offset, newest.length + length);
  if (room > newest.room) {
    if (room_ == nullptr || !room_->take_at_once(room - newest.room)) {
      return false;
    }
    newest.room = room;
  }
  std::byte* const place = newest.buffer.data + newest.length;
  std::memcpy(place, data, length);
  pending_.insert(offset, length, place, &newest);
  newest.length += length;
  waiting_bytes_ += length;
  return true;
}

void WriteQueue::push(std::unique_ptr<Extent>&& extent) {
  Background& background = Background::instance();
  bool first = false;
  {
    const Lock lock(background.mutex);
    waiting_.emplace_back();
    try {
      pending_.insert(extent->offset, extent->length, extent->data, extent.get());
    } catch (const std::bad_alloc&) {
      waiting_.pop_back();
      throw;
    }
    waiting_bytes_ += extent->length;
    promised_ += extent->buffer.data == nullptr ? 1U : 0U;
    waiting_.back() = std::move(extent);
    ++outstanding_;
    first = !std::exchange(running_, true);
    if (!first && waiting_bytes_ >= enough) {
      hurry();
    }
  }
  if (first) {
    start();
  }
}

void WriteQueue::hurry() noexcept {
  if (running_ && !hurried_) {
    hurried_ = true;
    Background::instance().announce();
  }
}

bool WriteQueue::fast() const noexcept { return bytes_per_second_ > fast_bytes_per_second; }

// Without the lock.
void WriteQueue::start() {
  Background& background = Background::instance();
  std::string label;
  {
    const Lock lock(background.mutex);
    label = described(waiting_.front()->call, waiting_.front()->name.get());
  }
  if (background.spawn(label, [self = shared_from_this()] { self->run(); })) {
    return;
  }
  // Here and now, then: whoever is behind waits.
  do {
    while (write_next()) {
    }
    const Lock lock(background.mutex);
    running_ = !waiting_.empty();  // another thread may have come with more
  } while (running_);
  const Lock lock(background.mutex);
  ++background.report.foreground["no task could be made"];
}

void WriteQueue::run() {
  while (write_next() || gather()) {
    // The trace shows each name as a task of its own.
    if (trace::enabled()) {
      start();
      return;
    }
  }
}

// Whether there is something to write. If not, the next write makes another task.
bool WriteQueue::gather() {
  Background& background = Background::instance();
  Lock lock(background.mutex);
  if (waiting_.empty()) {
    background.idle(lock, gathering_time, [&] { return hurried_; });
  }
  hurried_ = false;
  running_ = !waiting_.empty();
  const bool more = running_;
  lock.unlock();
  if (!more) {
    background.tidy_when_idle();
  }
  return more;
}

// What goes in one transfer. The lock is held.
WriteQueue::Batch WriteQueue::take() {
  const bool traced = trace::enabled();
  Batch batch;
  std::size_t bytes = 0;
  while (!waiting_.empty() && batch.size() < most_extents) {
    const Extent& next = *waiting_.front();
    if (!batch.empty() && (bytes + next.length > most_bytes ||
                           (traced && (next.name != batch.front()->name || next.call != batch.front()->call)))) {
      break;
    }
    bytes += next.length;
    batch.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  waiting_bytes_ -= bytes;
  return batch;
}

// Whether more is waiting.
bool WriteQueue::write_next() {
  Background& background = Background::instance();
  Batch batch;
  {
    const Lock lock(background.mutex);
    batch = take();
  }
  const std::uint64_t begin = now();
  std::vector<std::optional<Failure>> failures = write(batch);
  std::vector<std::function<void()>> tell;
  bool more = false;
  {
    const Lock lock(background.mutex);
    ended(batch, failures, begin, tell);
    more = !waiting_.empty();
  }
  for (const auto& say : tell) {
    say();
  }
  return more;
}

std::optional<WriteQueue::Failure> WriteQueue::attempt(std::span<const std::unique_ptr<Extent>> neighbours) const {
  const std::uint64_t begin = neighbours.front()->offset;
  const std::uint64_t end = neighbours.back()->offset + neighbours.back()->length;
  Failure failure{};
  try {
    if (neighbours.size() == 1) {
      file_.pwrite(std::span(neighbours.front()->data, neighbours.front()->length), begin);
      return std::nullopt;
    }
    std::vector<iovec> vectors;
    vectors.reserve(neighbours.size());
    for (const auto& extent : neighbours) {
      vectors.push_back({const_cast<std::byte*>(extent->data), extent->length});
    }
    file_.pwritev(vectors, begin);
    return std::nullopt;
  } catch (const IoError& failed) {
    failure.error = failed.code().value();
    failure.offset = std::clamp(failed.offset(), begin, end - 1);
  } catch (const std::exception&) {
    failure.error = ENOMEM;
    failure.offset = begin;
  }
  return failure;
}

// The room that was kept for the bytes is given back when they need it.
std::optional<WriteQueue::Failure> WriteQueue::transfer(std::span<const std::unique_ptr<Extent>> neighbours) const {
  std::optional<Failure> failure = attempt(neighbours);
  if (!failure || room_ == nullptr || (failure->error != ENOSPC && failure->error != EDQUOT)) {
    return failure;
  }
  Lock lock(Background::instance().mutex);
  room_->yield(lock);
  lock.unlock();
  failure = attempt(neighbours);
  lock.lock();
  room_->written();
  return failure;
}

// Neighbours go in one call. What of them is behind one that failed is written again.
std::vector<std::optional<WriteQueue::Failure>> WriteQueue::write(const Batch& batch) const {
  std::vector<std::optional<Failure>> failures(batch.size());
  for (std::size_t first = 0; first < batch.size();) {
    std::size_t next = first + 1;
    while (next < batch.size() && batch[next]->offset == batch[next - 1]->offset + batch[next - 1]->length &&
           batch[next]->length <= largest_joined) {
      ++next;
    }
    const std::optional<Failure> failure = transfer(std::span(batch).subspan(first, next - first));
    if (!failure) {
      first = next;
      continue;
    }
    while (failure->offset >= batch[first]->offset + batch[first]->length) {
      ++first;
    }
    const Extent& culprit = *batch[first];
    failures[first] = failure;
    failures[first]->length = culprit.offset + culprit.length - failure->offset;
    failures[first]->call = culprit.call;
    failures[first]->name = culprit.name;
    ++first;
  }
  return failures;
}

void WriteQueue::ended(Batch& batch, std::vector<std::optional<Failure>>& failures, std::uint64_t begin,
                       std::vector<std::function<void()>>& tell) {
  Background& background = Background::instance();
  const std::uint64_t end = now();
  background.report.transfer_time += end - begin;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto& extent = batch[i];
    bytes += extent->length;
    lost_.remove(extent->offset, extent->length);
    if (failures[i]) {
      lost_.add(failures[i]->offset, failures[i]->length);
      note(std::move(*failures[i]), tell);
    }
    pending_.remove(extent->offset, extent->length, extent.get());
    if (extent->room != 0) {
      room_->give_back(extent->room);
    }
    if (extent->buffer.data != nullptr) {
      background.pool.give_back(extent->buffer);
    } else {
      --promised_;
    }
    if (extent->transfers != nullptr) {
      extent->transfers->one_ended(failures[i] ? this->failure() : std::string(), end, tell);
    }
  }
  if (bytes >= large && end > begin) {
    const double rate = static_cast<double>(bytes) * 1e9 / static_cast<double>(end - begin);
    bytes_per_second_ = bytes_per_second_ == 0 ? rate : 0.75 * bytes_per_second_ + 0.25 * rate;
  }
  outstanding_ -= batch.size();
  background.announce();
}

// The first one is said at once: the program may never ask.
void WriteQueue::note(Failure failure, std::vector<std::function<void()>>& tell) {
  if (failure_) {
    return;
  }
  failure_ = std::move(failure);
  ++Background::instance().failures;
  tell.emplace_back([text = this->failure()] { std::fprintf(stderr, "dovetail: %s\n", text.c_str()); });
}

}  // namespace dovetail::hdf5
