// Which runtimes of the process take work that belongs to no task of the program: transfers that a library makes behind its back, say.
#pragma once

#include <functional>

#include "base/clock.hpp"
#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::RuntimeCore;

/// From now on the runtime takes such work.
void begin_hosting(RuntimeCore& core);
/// It takes no more. Calls that were to be made later are made now: no clock of this runtime will make them.
void end_hosting(RuntimeCore& core) noexcept;

/// Calls `visit` with a runtime that takes work: that of the calling thread, or else any but `last`, or else `last`. It does not end
/// meanwhile. `visit` must be short. False: there is none.
bool with_host(const RuntimeCore* last, const std::function<void(RuntimeCore&)>& visit);

/// Has `action` called at `when`, or earlier if the runtime ends before: outside of any task, on any thread. It must be short and must not block. False:
/// there is no runtime to do it.
bool call_on_host(const RuntimeCore* last, base::TimePoint when, std::function<void()> action);

}  // namespace dovetail::tasking
