// Notices a runtime in which nothing can ever run again, and says why. See docs/design/stuck.md.
#pragma once

#include "base/clock.hpp"
#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

/// For the reactor, which wakes tasks whose time has come: while it is here, none of them is on its way. Says
/// that the runtime is stuck, if it is. Returns when to look again.
base::TimePoint look_whether_stuck(detail::RuntimeCore& core);

}  // namespace dovetail::tasking
