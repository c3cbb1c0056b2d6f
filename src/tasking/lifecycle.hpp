// The steps of a task's life. Each is one function.
//
//   created → dependencies met → `onready` ran and its events fulfilled → admitted, if it has a ticket (gate.hpp) → ready →
//   running ⇄ paused → returned → completed
#pragma once

#include <exception>

#include "tasking/schedule.hpp"
#include "tasking/task.hpp"

namespace dovetail::tasking {

class Worker;

/// The body threw, or an event failed. Only the first failure of a task is kept.
void fail(Task* task, std::exception_ptr cause) noexcept;
/// All accesses are free.
void dependencies_met(Task* task) noexcept;
/// Everything before the body is done: takes the exclusions of commutative accesses, then queues the task.
void become_ready(Task* task) noexcept;
/// Runs the body to its end on this thread. The body may pause meanwhile and end on another thread.
void run_body(Task* task);
/// One blocker less: the last one completes the task, or lets it start if it is in `onready`.
void remove_blockers(Task* task, std::uint32_t count) noexcept;
/// A number of children of the task have completed.
void children_completed(Task* parent, std::int64_t count) noexcept;
/// Tells the parent of the children that the worker, which is the calling one, has completed. Perhaps its parents, too.
void flush_children(Worker& worker) noexcept;
/// Whether all children of the task that runs here have completed. Then none is counted any more, by the task or by the worker.
bool children_done(Task* task) noexcept;

/// Counts a child that `spawner` (null: none) is about to let go.
inline void count_spawned(Task* parent, const Task* spawner) noexcept {
  if (parent == spawner) {
    ++parent->children_spawned;
  } else {
    parent->children.fetch_add(1, std::memory_order_relaxed);
  }
}

/// Moves the first failure of a child that no wait has taken out of the list, taken; null if there is none. The reference passes to
/// the caller.
Failure* take_child_failure(Task* parent) noexcept;
/// Drops those failures of children that only say once more that they can never end.
void drop_stuck_failures(Task* parent) noexcept;

}  // namespace dovetail::tasking
