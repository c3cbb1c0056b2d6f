// What the looks for long waits know of each other. See docs/design/stuck.md.
#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace dovetail::tasking {

/// Only the reactor's thread uses it.
struct LongWaitLooks {
  /// Of `Task::first_look`, beside the numbers of looks from 1 on.
  enum Mark : std::uint8_t { not_found = 0, most_numbers = 254, reported = 255 };

  std::uint8_t number = 1;           ///< Of this look. They recur.
  unsigned reports = 0;              ///< Since there was no long wait.
  base::TimePoint next_report = {};  ///< Not to report earlier, ...
  base::TimePoint next_new = {};  ///< ... or, if a wait has become long since the last report, not earlier than this.
};

}  // namespace dovetail::tasking
