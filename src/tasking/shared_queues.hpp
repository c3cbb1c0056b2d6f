// The ready tasks of a runtime that any worker may take.
#pragma once

#include "tasking/outside_tasks.hpp"
#include "tasking/task_queue.hpp"

namespace dovetail::tasking {

/// A worker looks at these in this order; see docs/design/stealing.md.
struct SharedQueues {
  explicit SharedQueues(TaskTotals& totals) noexcept : outside(totals) {}

  PriorityQueue urgent;    ///< Positive priorities.
  TaskQueue resumed;       ///< Tasks that go on, woken by threads that are no workers.
  OutsideTasks outside;    ///< Tasks that begin, of threads that are no workers.
  TaskQueue gave_way;      ///< Tasks that go on behind the others.
  PriorityQueue deferred;  ///< Negative priorities.

  bool empty() const noexcept {
    return urgent.empty() && resumed.empty() && outside.empty() && gave_way.empty() && deferred.empty();
  }
};

}  // namespace dovetail::tasking
