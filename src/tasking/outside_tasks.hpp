// Ready tasks of threads that are no workers. Each such thread has a lane of its own, as far as there are enough. A lane is a deque
// to which the thread pushes and from which workers steal. So threads that spawn meet neither each other nor workers at a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "base/mutex.hpp"
#include "base/spin_lock.hpp"
#include "tasking/deque.hpp"
#include "tasking/task_count.hpp"

namespace dovetail::tasking {

class OutsideTasks {
 public:
  struct alignas(64) Lane {
    explicit Lane(TaskTotals& totals) noexcept : count(totals) {}

    /// Held by a thread from before its task is to be had until it has told of it: `see_off` waits for that.
    base::SpinLock lock;
    TaskCount count GUARDED_BY(lock);
    Deque deque;  ///< Pushed to under the lock. Stolen from without.
  };

  explicit OutsideTasks(TaskTotals& totals) : totals_(totals) { make_lane(0); }
  ~OutsideTasks();
  OutsideTasks(const OutsideTasks&) = delete;
  OutsideTasks& operator=(const OutsideTasks&) = delete;

  /// That of the calling thread. Without memory for one, it uses the first thread's.
  Lane& own_lane() noexcept;
  /// Takes up to `most` tasks, oldest first, from a lane that has some; from another one next time.
  std::size_t steal(Task** tasks, std::size_t most) noexcept;
  bool empty() const noexcept;
  /// Returns when no thread is at a lane any more. All tasks have completed.
  void see_off() noexcept;

 private:
  static constexpr unsigned most_lanes = 8;
  Lane& make_lane(unsigned number);

  TaskTotals& totals_;
  std::array<std::atomic<Lane*>, most_lanes> lanes_{};
  std::atomic<unsigned> lanes_in_use_{0};  ///< All lower numbers than this; there may be gaps.
  std::atomic<unsigned> next_{0};          ///< Where the next theft begins.
};

}  // namespace dovetail::tasking
