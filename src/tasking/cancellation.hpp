// Which tasks are not to begin, or to go on.
#pragma once

#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::Task;

/// Whether the program has cancelled the task, by its future or with all tasks of its runtime.
bool is_cancelled(const Task* task) noexcept;
/// Whether the body of the task must not run: it was cancelled, has failed, or needs what a failed task should have made.
bool must_not_run(const Task* task) noexcept;

}  // namespace dovetail::tasking
