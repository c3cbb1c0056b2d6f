// Those that wait for a task are told when it has completed.
#pragma once

#include "tasking/task.hpp"
#include "tasking/wait_list.hpp"

namespace dovetail::tasking {

inline bool has_completed(const Task* task) noexcept { return is_closed(task->waiters); }
/// Ends the waits for a task that has completed, and lets no more begin.
void tell_waiters(Task* task) noexcept;
/// Gives up, on behalf of the task that waits, the wait in which it is paused. False if the wait has ended by itself.
bool abandon_wait(Task* waiting) noexcept;
/// Of a task paused in `wait_for_task`: the task it waits for.
const Task* awaited_task(const Task* waiting) noexcept;

}  // namespace dovetail::tasking
