// Waiting for one task or for the children of one: from a task, which pauses, or from another thread, which blocks.
#pragma once

#include "tasking/task.hpp"

namespace dovetail::tasking {

/// Thrown out of a wait of a foreign thread that its `look` has ended.
struct WaitInterrupted {};
/// Has `look` called several times a second, without any lock, whenever the calling thread, a foreign one, is blocked in
/// `wait_for_task` or `wait_for_all`; if it returns true the wait ends by `WaitInterrupted`, and what is waited for goes on. For
/// languages that learn of signals only by asking. Null: never.
void set_interrupt_look(bool (*look)()) noexcept;

/// Ends the waits for a task that has completed, and lets no more begin.
void tell_waiters(Task* task) noexcept;
/// Returns when the task has completed. @throws Stuck.
void wait_for_task(Task* task);
/// Returns when all children of the current task have completed, running them on top of it where that is possible.
void wait_for_children(Task* task);
/// Blocks a foreign thread until the runtime has no tasks. @throws Stuck.
void wait_for_all(RuntimeCore& core);
/// Gives up, on behalf of the task that waits, the wait in which it is paused. False if the wait has ended by itself.
bool abandon_wait(Task* waiting) noexcept;
/// Of a task paused in `wait_for_task`: the task it waits for.
const Task* awaited_task(const Task* waiting) noexcept;

}  // namespace dovetail::tasking
