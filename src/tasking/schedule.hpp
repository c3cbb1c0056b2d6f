// Where a task is queued that may run, or go on.
#pragma once

#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::Task;
class Worker;

/// Queues a ready or woken task where it belongs.
void schedule(Task* task) noexcept;
/// Queues a task that waits for nothing on the worker whose task spawns it: `dependencies_met` for a task with nothing special.
void schedule_plain(Task* task, Worker& worker) noexcept;
/// The same for a thread that is no worker. Returns whether that is to look how many tasks are pending.
bool schedule_plain_from_outside(Task* task);
/// Ends the pause of a task (pause.hpp). Exactly once per `prepare_pause`, from any thread.
void wake(Task* task) noexcept;

}  // namespace dovetail::tasking
