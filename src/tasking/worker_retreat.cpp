// Little work is left to one worker. See docs/design/stealing.md, "Little work".
#include <atomic>

#include "tasking/core.hpp"
#include "tasking/worker.hpp"

namespace dovetail::tasking {
namespace {

// Of the time of two workers together, one that does the work of both must have that much left.
constexpr std::uint32_t most_percent_of_one = 50;
// Since a slice began that was expected to be short. One that takes longer was not.
constexpr std::int64_t microseconds_of_trust = 50;
// After which a worker that was woken for tasks is surely at them.
constexpr std::int64_t microseconds_to_wake = 1000;

}  // namespace

// Who might do what this worker does, without having too much to do. Of two workers only one may think so of the other.
Worker* Worker::find_refuge(std::uint64_t now) const noexcept {
  const std::uint32_t own = occupancy_.percent(now);
  if (!operations_ || own >= most_percent_of_one) {
    return nullptr;
  }
  // The nearest, so that not all choose the same one before it is seen to have enough.
  Worker* nearest = nullptr;
  for (const Victim& victim : victims_) {
    Worker* const other = victim.worker;
    if (other->index_ < index_ && (nearest == nullptr || other->index_ > nearest->index_) &&
        other->orders_pushes_.load(std::memory_order_relaxed) &&
        own + other->occupancy_.percent(now) < most_percent_of_one) {
      nearest = other;
    }
  }
  return nearest;
}

// Hands over the tasks that a poll has woken. What they begin next is the other worker's, and wakes this one no more.
bool Worker::retreat() noexcept {
  std::size_t staying = 0;
  bool gave = false;
  while (staying < batch_.size()) {
    Task* const task = take_local();
    if (task == nullptr) {
      break;
    }
    if (task->fiber != nullptr && predictor_.is_surely_short(slice_of(task))) {
      refuge_->returned_.push(task);
      gave = true;
    } else {
      batch_[staying++] = task;
    }
  }
  while (staying > 0) {
    push(batch_[--staying]);
  }
  if (gave) {
    retreated_at_ = base::ticks();
    // As in `give_back`.
    if (refuge_->out_of_work_.fetch_add(0, std::memory_order_seq_cst) != 0) {
      refuge_->unpark();
    }
  }
  return gave;
}

// Whether that worker has tasks that it told nobody of, and is getting on with them.
bool Worker::is_better_left_alone(const Worker& other, std::uint64_t now) const noexcept {
  const auto ticks = static_cast<std::int64_t>(base::ticks_per_microsecond());
  if (&other == refuge_ && static_cast<std::int64_t>(now - retreated_at_) < microseconds_to_wake * ticks) {
    return true;
  }
  // Negative if it began a slice after `now`.
  const auto age = static_cast<std::int64_t>(now - other.last_slice_.load(std::memory_order_relaxed));
  return other.kept_to_itself_.load(std::memory_order_relaxed) && age < microseconds_of_trust * ticks;
}

}  // namespace dovetail::tasking
