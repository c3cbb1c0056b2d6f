// All runtimes of the process that have threads.
#pragma once

#include <functional>

#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::RuntimeCore;

void add_live_runtime(RuntimeCore* core);
/// Waits for calls of `if_live` that look at it.
void remove_live_runtime(RuntimeCore* core) noexcept;
/// Calls `visit` with the runtime unless it is gone: `core` may be only a name. It does not go meanwhile.
void if_live(const RuntimeCore* core, const std::function<void(RuntimeCore&)>& visit);
/// Calls `visit` with each. None goes meanwhile, so `visit` waits for no task.
void for_each_live_runtime(const std::function<void(RuntimeCore&)>& visit);
/// In the child of a fork, where only the calling thread is left: calls `visit` with each.
void for_each_live_runtime_after_fork(const std::function<void(RuntimeCore&)>& visit);

}  // namespace dovetail::tasking
