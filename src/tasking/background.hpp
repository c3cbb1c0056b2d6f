// Work of the process as a whole, done behind a program that may know nothing of tasks. It runs in the program's own runtime. A program that
// has none gets a small one when there is something to do.
#pragma once

#include <functional>

#include "base/clock.hpp"
#include "dovetail/options.hpp"
#include "dovetail/task.hpp"

namespace dovetail::tasking {

/// How the runtime is made for a program without one. For the next that is made.
void set_background_options(const Options& options);

/// Spawns a task that has no parent. `body` must not throw. Never waits for other tasks. False: there is no memory, or no runtime can be
/// made, which is told once.
bool spawn_in_background(const TaskDescription& description, std::function<void()> body) noexcept;

/// Calls `use` with a runtime that takes such work, which does not end meanwhile. `use` must be short. False as above.
bool with_background_runtime(const std::function<void(detail::RuntimeCore&)>& use) noexcept;

/// Has `action` called at `when`, or earlier if the program ends its runtime before: outside of any task, on any thread. It must be short
/// and must not block. False as above.
bool call_in_background(base::TimePoint when, std::function<void()> action) noexcept;

/// Waits for the tasks of the runtime that was made here, and ends it. The next work makes another one.
void end_background() noexcept;

}  // namespace dovetail::tasking
