// Where a task is queued that may run.
#pragma once

#include "tasking/task.hpp"

namespace dovetail::tasking {

class Worker;

/// Queues a ready or woken task where it belongs.
void schedule(Task* task) noexcept;
/// Queues a task that waits for nothing on the worker whose task spawns it: `dependencies_met` for a task with nothing special.
void schedule_plain(Task* task, Worker& worker) noexcept;
/// The same for a thread that is no worker. Returns whether that is to look how many tasks are pending.
bool schedule_plain_from_outside(Task* task);

}  // namespace dovetail::tasking
