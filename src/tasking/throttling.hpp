// Releases spawners that the throttle holds back. An idle runtime always releases its spawners, since all other tasks may wait for what they would
// spawn next.
#pragma once

#include "base/clock.hpp"
#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::RuntimeCore;

/// Lets spawners go on if there is room again.
void release_spawners(RuntimeCore& core) noexcept;
/// Lets spawners go on for an idle worker, since all other tasks may wait for them. It does so at once if nothing runs and what is in flight ends
/// elsewhere, otherwise a few times a second. Returns whether it did.
bool release_spawners_if_idle(RuntimeCore& core) noexcept;
/// For a worker that is about to sleep: while spawners are held back, the reactor is to look after them.
void expect_spawners(RuntimeCore& core) noexcept;
/// `release_spawners_if_idle` for the workers that sleep. Returns when to look again.
base::TimePoint look_after_spawners(RuntimeCore& core) noexcept;
/// Blocks a thread that is no worker's until spawners are let go. It blocks for a moment only, since bodies that wait for the thread may block all
/// workers.
void hold_thread(RuntimeCore& core);

}  // namespace dovetail::tasking
