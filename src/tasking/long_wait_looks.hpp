// What the looks for long waits know of each other. See docs/design/stuck.md.
#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace dovetail::tasking {

/// Only the reactor's thread uses it.
struct LongWaitLooks {
  std::uint8_t number = 1;           ///< Of this look. `Task::first_look` is one of them, or 0.
  unsigned reports = 0;              ///< Since there was no long wait.
  base::TimePoint next_report = {};  ///< Not earlier.
};

}  // namespace dovetail::tasking
