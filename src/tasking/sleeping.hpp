// How a worker that finds nothing to do sleeps. See docs/design/stealing.md, "Sleeping".
#pragma once

#include "tasking/worker.hpp"

namespace dovetail::tasking {

/// Looks on for a moment, if work may come, and then sleeps until somebody has some. May return early.
void sleep(Worker& worker);
/// Whether there may be something to do that this worker can take.
bool may_be_work(const Worker& worker) noexcept;

}  // namespace dovetail::tasking
