#include "tasking/little_work.hpp"

#include <array>

namespace dovetail::tasking {
namespace {

// Of the time of two workers together, one that does the work of both must have that much left.
constexpr std::uint32_t most_percent_of_one = 50;
// After which a worker that was woken for tasks is surely at them.
constexpr std::int64_t microseconds_to_wake = 1000;
// Lower numbers than these are not looked at.
constexpr unsigned most_looks = 8;
constexpr std::size_t most_handed_over = 64;

}  // namespace

void find_refuge(Worker& worker, std::uint64_t now) noexcept {
  worker.refuge.peer = nullptr;
  const std::uint32_t own = worker.occupancy.percent(now);
  if (!worker.operations.any || own >= most_percent_of_one) {
    return;
  }
  // One of lower number, so that of two workers only one may think so of the other; and the nearest, so that not all choose the same
  // one before it is seen to have enough.
  for (unsigned below = 1; below <= worker.index && below <= most_looks; ++below) {
    Peer& other = *worker.victims.of_worker(worker.index - below).peer;
    if (other.has_operations.load(std::memory_order_relaxed) &&
        own + other.occupancy.percent(now) < most_percent_of_one) {
      worker.refuge.peer = &other;
      return;
    }
  }
}

void retreat(Worker& worker) noexcept {
  std::array<Task*, most_handed_over> kept;
  std::size_t staying = 0;
  while (staying < kept.size()) {
    Task* const task = worker.ready.pop();
    if (task == nullptr) {
      break;
    }
    if (task->fiber != nullptr && worker.slices.is_surely_short(task)) {
      worker.refuge.peer->give(task);
      worker.refuge.went_at = base::ticks();
    } else {
      kept[staying++] = task;
    }
  }
  while (staying > 0) {
    worker.push(kept[--staying]);
  }
}

bool is_better_left_alone(const Worker& worker, const Peer& other, std::uint64_t now) noexcept {
  const auto ticks = static_cast<std::int64_t>(base::ticks_per_microsecond());
  if (&other == worker.refuge.peer &&
      static_cast<std::int64_t>(now - worker.refuge.went_at) < microseconds_to_wake * ticks) {
    return true;
  }
  return other.kept.are_left_alone(now);
}

}  // namespace dovetail::tasking
