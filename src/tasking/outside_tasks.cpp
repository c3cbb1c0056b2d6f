#include "tasking/outside_tasks.hpp"

#include <algorithm>
#include <memory>
#include <new>

namespace dovetail::tasking {
namespace {

std::atomic<unsigned> threads_so_far{0};
thread_local constinit unsigned number_of_thread = 0;

// From one on, in the order in which threads first ask.
unsigned own_number() noexcept {
  if (number_of_thread == 0) [[unlikely]] {
    number_of_thread = threads_so_far.fetch_add(1, std::memory_order_relaxed) + 1;
  }
  return number_of_thread;
}

}  // namespace

OutsideTasks::~OutsideTasks() {
  for (const auto& lane : lanes_) {
    delete lane.load(std::memory_order_relaxed);
  }
}

OutsideTasks::Lane& OutsideTasks::own_lane() noexcept {
  const unsigned number = (own_number() - 1) % most_lanes;
  if (Lane* const lane = lanes_[number].load(std::memory_order_acquire)) [[likely]] {
    return *lane;
  }
  try {
    return make_lane(number);
  } catch (const std::bad_alloc&) {
    return *lanes_[0].load(std::memory_order_acquire);
  }
}

OutsideTasks::Lane& OutsideTasks::make_lane(unsigned number) {
  auto made = std::make_unique<Lane>(totals_);
  Lane* lane = nullptr;
  if (lanes_[number].compare_exchange_strong(lane, made.get(), std::memory_order_acq_rel)) {
    lane = made.release();
    unsigned in_use = lanes_in_use_.load(std::memory_order_relaxed);
    while (in_use <= number && !lanes_in_use_.compare_exchange_weak(in_use, number + 1, std::memory_order_seq_cst)) {
    }
  }
  return *lane;
}

std::size_t OutsideTasks::steal(Task** tasks, std::size_t most) noexcept {
  const unsigned in_use = lanes_in_use_.load(std::memory_order_acquire);
  const unsigned first = next_.load(std::memory_order_relaxed);
  for (unsigned i = 0; i < in_use; ++i) {
    const unsigned number = (first + i) % in_use;
    Lane* const lane = lanes_[number].load(std::memory_order_acquire);
    if (lane == nullptr || lane->deque.size() <= 0) {
      continue;
    }
    if (const std::size_t taken = lane->deque.steal(tasks, most); taken > 0) {
      if (in_use > 1) {
        next_.store(number + 1, std::memory_order_relaxed);
      }
      return taken;
    }
  }
  return 0;
}

bool OutsideTasks::empty() const noexcept {
  const unsigned in_use = lanes_in_use_.load(std::memory_order_acquire);
  for (unsigned number = 0; number < in_use; ++number) {
    const Lane* const lane = lanes_[number].load(std::memory_order_acquire);
    if (lane != nullptr && lane->deque.size() > 0) {
      return false;
    }
  }
  return true;
}

void OutsideTasks::see_off() noexcept {
  for (const auto& place : lanes_) {
    if (Lane* lane = place.load(std::memory_order_acquire)) {
      const base::LockGuard lock(lane->lock);
    }
  }
}

}  // namespace dovetail::tasking
