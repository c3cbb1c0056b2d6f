// Says what waits for what when something that the runtime cannot bring about does not come. See docs/design/stuck.md.
#pragma once

#include "base/clock.hpp"
#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::RuntimeCore;

/// For a thread outside that begins to wait for tasks, or leaves a callback: the reactor is to look from now on.
void expect_long_waits(RuntimeCore& core) noexcept;
/// For the reactor. Returns when to look again.
base::TimePoint look_for_long_waits(RuntimeCore& core, base::TimePoint now);

}  // namespace dovetail::tasking
