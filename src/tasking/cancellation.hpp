// Which tasks are not to begin, or to go on.
#pragma once

#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::Task;

/// Whether somebody asked that the task stop, or not begin.
bool is_cancelled(const Task* task) noexcept;
/// Whether the body of the task must not run (any more), so that nothing is to be kept for it.
bool must_not_run(const Task* task) noexcept;

}  // namespace dovetail::tasking
