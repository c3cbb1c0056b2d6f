// Where a worker finds its next task. See docs/design/stealing.md.
#pragma once

#include "tasking/worker.hpp"

namespace dovetail::tasking {

/// The next task of the worker, which sleeps until there is one; null when the runtime ends.
Task* find_task(Worker& worker);
/// Takes a share of the tasks of threads that are no workers: one to run, the others into the worker's deque. Null if there are none.
Task* take_from_outside(Worker& worker);
/// The same of those that others gave to the worker.
Task* take_given(Worker& worker);
/// A body is about to run one of its children on top of it. Whether it must not this time, so that others get their turn.
bool gives_turn(Worker& worker) noexcept;

}  // namespace dovetail::tasking
