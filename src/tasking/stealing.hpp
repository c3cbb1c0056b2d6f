// Taking tasks from other workers. See docs/design/stealing.md.
#pragma once

#include "tasking/worker.hpp"

namespace dovetail::tasking {

/// Takes tasks from another worker: one to run, the others into this one's deque. Null if there are none to be had; `Search::declined`
/// then says whether there are some that are better left where they are.
Task* steal(Worker& worker);

}  // namespace dovetail::tasking
