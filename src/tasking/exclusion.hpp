// Mutual exclusion among the commutative accesses of one region: the task that is ready first runs first, one at a time.
// A task takes all of its exclusions in one global order, so that no two tasks wait for each other.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/spin_lock.hpp"
#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::Task;

class Exclusion {
 public:
  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

  /// Gives the exclusion to the task and returns true, or queues the task and returns false.
  bool acquire(Task* task) noexcept;
  /// Gives it to the next task in the queue, and returns that. Null: none waits, and it is free.
  Task* hand_over() noexcept;

 private:
  base::SpinLock lock_;
  bool held_ GUARDED_BY(lock_) = false;
  Task* first_ GUARDED_BY(lock_) = nullptr;
  Task* last_ GUARDED_BY(lock_) = nullptr;
  std::atomic<std::uint32_t> references_{1};
};

}  // namespace dovetail::tasking
