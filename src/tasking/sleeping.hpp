// How a worker that finds nothing to do sleeps. See docs/design/stealing.md, "Sleeping".
#pragma once

#include "tasking/worker.hpp"

namespace dovetail::tasking {

/// Looks on for a moment, if work may come, and then sleeps until there is some. May return early.
void sleep(Worker& worker);
/// For a task that has prepared a pause on a worker without other work. Polls on the task's stack, as an idle worker does before it sleeps.
/// @returns whether the task has been woken, and goes on: that saves two switches and the way through the scheduler.
bool linger_for(Worker& worker, const Task* paused);
/// Whether there may be something to do that this worker can take.
bool may_be_work(const Worker& worker) noexcept;

}  // namespace dovetail::tasking
