// Times as Python has them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

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

/// When a wait of several steps is given up.
class Deadline {
 public:
  Deadline() noexcept = default;
  /// Nothing: never. @throws As `nanoseconds_of`.
  static Deadline after(std::optional<double> seconds) {
    Deadline deadline;
    const std::chrono::nanoseconds length = nanoseconds_of(seconds);
    if (length != std::chrono::nanoseconds::max()) {
      deadline.at_ = std::chrono::steady_clock::now() + length;
    }
    return deadline;
  }
  bool never() const noexcept { return !at_.has_value(); }
  /// How long there is still to wait, 0 when it has passed; the longest time if it never comes.
  std::chrono::nanoseconds left() const {
    return never() ? std::chrono::nanoseconds::max()
                   : std::max<std::chrono::nanoseconds>(*at_ - std::chrono::steady_clock::now(), {});
  }

 private:
  std::optional<std::chrono::steady_clock::time_point> at_;
};

/// A wait was given up: `TimeoutError` in Python.
class TimedOut : public std::runtime_error {
 public:
  explicit TimedOut(const std::string& awaited) : std::runtime_error(awaited + " has not completed in that time") {}
};

}  // namespace dovetail::python
