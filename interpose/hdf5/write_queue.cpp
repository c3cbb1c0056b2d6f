#include "write_queue.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <iterator>
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

WriteQueue::WriteQueue(std::string path, int descriptor)
    : path_(std::move(path)), file_(File::from_descriptor(descriptor)) {}

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

void WriteQueue::fail(const char* call, SharedName name, const std::string& reason) {
  if (!failure_) {
    failure_ = Failure{.call = call,
                       .name = std::move(name),
                       .error = EIO,
                       .reason = reason.empty() ? "HDF5 does not say why" : reason};
    ++Background::instance().failures;
  }
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
  return running_;
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
  bool skipped = false;
  {
    const Lock lock(background.mutex);
    batch = take();
    skipped = failed();
  }
  std::optional<Failure> failure;
  const std::uint64_t begin = now();
  if (!skipped) {
    failure = write(batch);
  }
  std::vector<std::function<void()>> tell;
  bool more = false;
  {
    const Lock lock(background.mutex);
    ended(batch, failure, begin, tell);
    more = !waiting_.empty();
  }
  for (const auto& say : tell) {
    say();
  }
  return more;
}

// Neighbours go in one call.
std::optional<WriteQueue::Failure> WriteQueue::write(const Batch& batch) const {
  std::vector<iovec> vectors;
  for (auto first = batch.begin(); first != batch.end();) {
    const std::uint64_t begin = (*first)->offset;
    std::uint64_t end = begin;
    vectors.clear();
    auto next = first;
    for (; next != batch.end() && (*next)->offset == end; ++next) {
      if (next != first && (*next)->length > largest_joined) {
        break;
      }
      vectors.push_back({const_cast<std::byte*>((*next)->data), (*next)->length});
      end += (*next)->length;
    }
    Failure failure{};
    try {
      if (vectors.size() == 1) {
        file_.pwrite(std::span((*first)->data, (*first)->length), begin);
      } else {
        file_.pwritev(vectors, begin);
      }
    } catch (const IoError& failed) {
      failure.error = failed.code().value();
      failure.offset = std::clamp(failed.offset(), begin, end - 1);
    } catch (const std::exception&) {
      failure.error = ENOMEM;
      failure.offset = begin;
    }
    if (failure.error != 0) {
      const auto culprit = std::find_if(
          first, next, [&](const auto& extent) { return failure.offset < extent->offset + extent->length; });
      failure.length = (*culprit)->offset + (*culprit)->length - failure.offset;
      failure.call = (*culprit)->call;
      failure.name = (*culprit)->name;
      failure.written = static_cast<std::size_t>(culprit - batch.begin());
      return failure;
    }
    first = next;
  }
  return std::nullopt;
}

void WriteQueue::ended(Batch& batch, const std::optional<Failure>& failure, std::uint64_t begin,
                       std::vector<std::function<void()>>& tell) {
  Background& background = Background::instance();
  const std::uint64_t end = now();
  background.report.transfer_time += end - begin;
  if (failure && !failure_) {
    failure_ = failure;
    ++background.failures;
  }
  const std::size_t written = failure ? failure->written : (failed() ? 0 : batch.size());
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto& extent = batch[i];
    bytes += extent->length;
    if (i >= written) {
      lose({extent->offset, extent->length});
    }
    pending_.remove(extent->offset, extent->length, extent.get());
    if (extent->buffer.data != nullptr) {
      background.pool.give_back(extent->buffer);
    } else {
      --promised_;
    }
    if (extent->transfers != nullptr) {
      extent->transfers->one_ended(i < written ? std::string() : this->failure(), end, tell);
    }
  }
  if (bytes >= large && end > begin) {
    const double rate = static_cast<double>(bytes) * 1e9 / static_cast<double>(end - begin);
    bytes_per_second_ = bytes_per_second_ == 0 ? rate : 0.75 * bytes_per_second_ + 0.25 * rate;
  }
  outstanding_ -= batch.size();
  background.announce();
}

}  // namespace dovetail::hdf5
