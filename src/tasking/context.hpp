// What the calling thread is to Dovetail.
#pragma once

#include <cstddef>

#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::RuntimeCore;
using detail::Task;
class Worker;

struct ThreadContext {
  RuntimeCore* core = nullptr;  ///< Of a worker or executor; null on a foreign thread.
  Worker* worker = nullptr;     ///< Null on executors and foreign threads.
  Task* task = nullptr;         ///< Whose body runs.
  Task* onready = nullptr;      ///< Whose `onready` runs.
  bool in_callback = false;     ///< A callback of a future runs inside one of these two, which it does not see.
  const std::byte* lowest_of_stack = nullptr;  ///< Of an executor: its tasks run on the stack of the thread.

  /// Whether the scheduler of the worker itself is at work, and will soon come by its queues.
  bool in_scheduler() const noexcept { return task == nullptr && onready == nullptr && !in_callback; }
  /// Whether it is a thread of a runtime in a callback or an `onready`: it must not wait for tasks, which may need it.
  bool must_go_on() const noexcept { return core != nullptr && task == nullptr; }
};

/// Never inlined, so that no compiler keeps the address across a switch to another fiber, after which the thread may be
/// another one. Do not keep the reference across anything that may suspend.
ThreadContext& context() noexcept;

/// While it lives, what the thread does belongs to no task. The body of a task may have called the code: it completes other tasks, say. Nothing may
/// suspend meanwhile.
class OutsideOfTask {
 public:
  OutsideOfTask() noexcept : here_(context()), before_(here_) {
    here_.in_callback = !before_.in_scheduler();
    here_.task = nullptr;
    here_.onready = nullptr;
  }
  ~OutsideOfTask() { here_ = before_; }
  OutsideOfTask(const OutsideOfTask&) = delete;
  OutsideOfTask& operator=(const OutsideOfTask&) = delete;

 private:
  ThreadContext& here_;
  const ThreadContext before_;
};

}  // namespace dovetail::tasking
