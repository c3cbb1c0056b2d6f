// Says what waits for what when something that the runtime cannot bring about does not come. See docs/design/stuck.md.
#pragma once

#include <cstdint>

#include "base/clock.hpp"
#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::RuntimeCore;

/// What the looks know of each other. Only the reactor's thread uses it.
struct LongWaits {
  std::uint8_t look = 1;      ///< The number of this one. `Task::first_look` is one of them, or 0.
  unsigned reports = 0;       ///< Since there was no long wait.
  base::TimePoint next = {};  ///< Not to report earlier.
};

/// For a thread outside that begins to wait for tasks: the reactor is to look from now on.
void expect_long_waits(RuntimeCore& core) noexcept;
/// For the reactor. Returns when to look again.
base::TimePoint look_for_long_waits(RuntimeCore& core, base::TimePoint now);

}  // namespace dovetail::tasking
