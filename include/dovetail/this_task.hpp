/// @file
/// The task that is running. All of these are for use inside a task's body, save where said otherwise.
///
/// A call that may suspend gives the core to other tasks. It may return on another operating-system thread, unless the task is `.tied`. So
/// do not hold a mutex, a pointer to a thread-local or a value of `errno` across it.
#pragma once

#include <chrono>
#include <stop_token>
#include <string_view>
#include <utility>

#include "dovetail/detail/body.hpp"
#include "dovetail/events.hpp"

namespace dovetail {

/// Refers to a task from outside of it, so that it can be resumed. Copyable; a default-constructed handle refers to none.
class TaskHandle {
 public:
  TaskHandle() noexcept = default;
  TaskHandle(const TaskHandle& other) noexcept : task_(other.task_) {
    if (task_ != nullptr) {
      detail::retain(task_);
    }
  }
  TaskHandle(TaskHandle&& other) noexcept : task_(std::exchange(other.task_, nullptr)) {}
  TaskHandle& operator=(TaskHandle other) noexcept {
    std::swap(task_, other.task_);
    return *this;
  }
  ~TaskHandle() {
    if (task_ != nullptr) {
      detail::release(task_);
    }
  }
  /// Whether it refers to a task.
  explicit operator bool() const noexcept { return task_ != nullptr; }
  /// Lets the task return from `suspend`: the one it is in, or the next one. Resuming twice before a suspend counts
  /// once; resuming a completed task or none does nothing. From any thread; never suspends.
  void resume() const noexcept;

 private:
  friend struct TaskHandleAccess;
  explicit TaskHandle(detail::Task* adopted) noexcept : task_(adopted) {}
  detail::Task* task_ = nullptr;
};

namespace this_task {

/// Whether the caller is inside a task's body (also valid outside).
bool active() noexcept;
/// The events of the current task (in `onready`: of the task that is about to be ready); valid until it completes.
/// @throws std::logic_error outside of both.
Events& events();
/// A handle of the current task. @throws std::logic_error outside of a task.
TaskHandle handle();
/// Suspends until `TaskHandle::resume`; returns at once if it was called since the last suspend.
/// @throws Stuck when it is certain that no resume can come; std::logic_error outside of a task.
void suspend();
/// Suspends for `duration` and returns the time really slept, which is longer by at most a body that runs when it is over.
std::chrono::nanoseconds wait_for(std::chrono::nanoseconds duration);
/// Suspends until `descriptor` can be read without blocking, its other end has hung up, or it has an error. The next call on it tells
/// which. Returns at once for files, which are always ready. For pipes, sockets, terminals, eventfd, signalfd, pidfd and the like. It must
/// stay open meanwhile. Returns false if `at_most` has passed first; max(): there is no limit.
/// @throws IoError if the descriptor is not open, or with ECANCELED when the task was cancelled; std::logic_error outside of a task.
bool wait_readable(int descriptor, std::chrono::nanoseconds at_most = std::chrono::nanoseconds::max());
/// As `wait_readable`, until `descriptor` can be written.
bool wait_writable(int descriptor, std::chrono::nanoseconds at_most = std::chrono::nanoseconds::max());
/// Lets other ready tasks run first.
void yield();
/// Whether this task has been asked to stop, by `FutureBase::cancel` or `Runtime::cancel`.
bool cancelled() noexcept;
/// A token by which this task, and what it calls, learns that it has been asked to stop. The thread that asks calls what is bound to it
/// (`std::stop_callback`), which must not wait. A request that comes after the task has completed does not reach it.
/// @throws std::logic_error outside of a task; std::bad_alloc.
std::stop_token stop_token();
/// Label of the current task; empty outside.
std::string_view label() noexcept;

}  // namespace this_task
}  // namespace dovetail
