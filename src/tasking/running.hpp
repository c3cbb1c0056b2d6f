// The thread of a worker: it runs bodies on fibers, leaves the fiber of a body that pauses, and goes back to it. See
// docs/design/suspension.md.
#pragma once

#include "tasking/worker.hpp"

namespace dovetail::tasking {

/// Makes the worker's thread. `processor` negative: the system says where it runs.
void start(Worker& worker, int processor);
/// Runs a task that never ran before, on the current stack.
void run(Worker& worker, Task* task);
/// Leaves the paused task's fiber for another one that runs the scheduler. Returns when the task goes on, perhaps on another worker.
void leave_fiber(Worker& worker, Task* paused);

/// What fibers of workers run.
fiber::Fiber::Entry worker_fiber_entry() noexcept;

}  // namespace dovetail::tasking
