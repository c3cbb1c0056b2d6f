// Whether anything runs in a runtime, or may run.
#pragma once

#include <chrono>

#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::RuntimeCore;

/// A runtime is looked at only after it has been quiet for this long: quiet moments are common and looking visits all tasks.
inline constexpr std::chrono::milliseconds first_look_when_quiet{50};

/// Whether nothing runs, nothing is queued and nothing is in flight, as far as an idle thread of it can see.
bool nothing_can_run(const RuntimeCore& core) noexcept;
/// Whether anything may end that the runtime itself has begun.
bool something_is_under_way(const RuntimeCore& core) noexcept;
/// Whether nothing runs and a thread that is no worker waits for it.
bool somebody_waits(const RuntimeCore& core) noexcept;
/// Called by a worker that is about to sleep. If nothing runs, it asks the reactor to look later whether the runtime is stuck.
void note_before_sleep(RuntimeCore& core) noexcept;

}  // namespace dovetail::tasking
