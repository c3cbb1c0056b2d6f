// Times as Python has them.
#pragma once

#include <chrono>
#include <cmath>
#include <optional>
#include <stdexcept>

namespace dovetail::python {

/// @throws std::invalid_argument for what is no number. A time too long for the clock is the longest time.
inline std::chrono::nanoseconds nanoseconds_of(double seconds) {
  constexpr double longest = 9e9;
  if (std::isnan(seconds)) {
    throw std::invalid_argument("a time must be a number of seconds, not nan");
  }
  if (seconds > longest) {
    return std::chrono::nanoseconds::max();
  }
  return std::chrono::nanoseconds(seconds <= 0 ? 0 : static_cast<std::int64_t>(std::ceil(seconds * 1e9)));
}

/// None: no limit.
inline std::chrono::nanoseconds nanoseconds_of(std::optional<double> seconds) {
  return seconds ? nanoseconds_of(*seconds) : std::chrono::nanoseconds::max();
}

}  // namespace dovetail::python
