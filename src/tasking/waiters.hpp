// Those that wait for a task are told when it has completed.
#pragma once

#include "tasking/task.hpp"
#include "tasking/wait_list.hpp"

namespace dovetail::tasking {

inline bool has_completed(const Task* task) noexcept { return is_closed(task->waiters); }
/// Ends the waits for a task that has completed, and lets no more begin.
void tell_waiters(Task* task) noexcept;

}  // namespace dovetail::tasking
