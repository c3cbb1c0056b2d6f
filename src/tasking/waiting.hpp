// Waiting for one task or for the children of one: from a task, which pauses, or from another thread, which blocks.
#pragma once

#include <string>

#include "tasking/interrupt_look.hpp"
#include "tasking/task.hpp"
#include "tasking/waiters.hpp"

namespace dovetail::tasking {

/// A thread of a runtime would wait in a callback or an `onready`. `what`: for what, as a part of the sentence. @throws std::logic_error
[[noreturn]] void refuse_to_wait_for(const std::string& what);
/// @throws std::logic_error in a callback or an onready on a thread of the runtime.
void require_may_wait_for(const char* what);
/// Returns when the task has completed. @throws Stuck; std::logic_error as above.
void wait_for_task(Task* task);
/// Returns when all children of the current task have completed, running them on top of it where that is possible.
void wait_for_children(Task* task);
/// Blocks a foreign thread until the runtime has no tasks. @throws Stuck.
void wait_for_all(RuntimeCore& core);

}  // namespace dovetail::tasking
