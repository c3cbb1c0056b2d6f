// What a gate does with the tasks that it keeps, and asks of them.
#pragma once

#include "dovetail/options.hpp"
#include "tasking/cancellation.hpp"

namespace dovetail::tasking {

using detail::RuntimeCore;

/// @name How a task passes
/// The gate calls `begin_passing` where it takes the task out of its lists, and `pass` without its locks. Between the two calls the runtime is
/// not taken for stuck.
/// @{
void begin_passing(Task* task) noexcept;
void pass(Task* task) noexcept;
/// @}

const Options& options_of(const Task* task) noexcept;
const RuntimeCore* core_of(const Task* task) noexcept;
/// Parent of the tasks that no task spawned.
const Task* root_of(const Task* task) noexcept;

}  // namespace dovetail::tasking
