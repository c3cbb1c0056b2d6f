// The clock of admission: seconds since it was first asked.
#pragma once

#include "base/clock.hpp"

namespace dovetail::admission {

inline double seconds_now() noexcept {
  static const base::TimePoint begin = base::Clock::now();
  return std::chrono::duration<double>(base::Clock::now() - begin).count();
}

}  // namespace dovetail::admission
