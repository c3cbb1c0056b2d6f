// How the layers above suspend a task until something they wait for has happened. `wake` in schedule.hpp ends the pause.
#pragma once

#include <exception>

#include "dovetail/detail/body.hpp"
#include "tasking/schedule.hpp"
#include "tasking/wait_reason.hpp"

namespace dovetail::tasking {

using detail::RuntimeCore;
using detail::Task;

/// The task whose body runs on this thread, or null.
Task* current_task() noexcept;
/// The task whose `onready` runs on this thread, or null.
Task* task_in_onready() noexcept;
/// The task to which an event is bound: the one whose body runs on this thread, or else whose `onready` does. Or null.
Task* task_that_binds() noexcept;
/// The runtime of the calling worker or executor thread, or null on a foreign thread.
RuntimeCore* current_runtime() noexcept;
/// The runtime of a task that has not completed.
RuntimeCore& runtime_of(const Task* task) noexcept;
/// The number of the calling compute worker, or -1 on any other thread (executors included).
int current_worker() noexcept;
/// Whether `pause` gives the core to others. False on I/O executors, where a pause blocks the thread.
bool pause_switches() noexcept;

/// Prepares a pause of the current task. After it, `wake` may be called, from any thread, exactly once.
void prepare_pause(Task* task) noexcept;
/// Returns after `wake`. Between `prepare_pause` and this call the task may still do anything but pause.
/// May return on another thread.
void pause(Task* task, WaitReason reason, const void* subject = nullptr);

/// State to keep for a task that pauses in a call that does not know of tasks (`WaitReason::system_call`). A language's runtime may hold state
/// for the thread, which another task uses meanwhile.
struct SystemCallPause {
  void* (*before)() noexcept;          ///< Its result is given to `after`.
  void (*after)(void* kept) noexcept;  ///< On the same thread, before the call goes on.
};
/// There is one in the process; it lives for ever.
void set_system_call_pause(const SystemCallPause* hooks) noexcept;

/// @name In events.cpp
/// @{
/// Binds the completion of the current task (or, in `onready`, its start) to one more event. Returns that task.
/// Null outside of a task.
Task* bind_event() noexcept;
/// Ends a bound event; with a cause, the task fails. From any thread.
void fulfill_event(Task* task, std::exception_ptr cause = nullptr) noexcept;
/// Whether the task, or its runtime, has been asked to stop. From any thread, while the task has not completed.
bool cancel_requested(const Task* task) noexcept;
/// @}

}  // namespace dovetail::tasking
