// How many uses of a device at once.
#pragma once

#include <algorithm>
#include <span>

namespace dovetail::device {

/// So many uses of a device at once, requests or tasks that make one request at a time, and what they give together.
struct Level {
  unsigned at_once = 0;  ///< 0: not known.
  double rate = 0;       ///< MB/s, in 10^6 bytes; 0: not known.
  friend bool operator==(const Level&, const Level&) = default;
};

/// The most that any level of a curve gives.
inline double highest_rate(std::span<const Level> curve) noexcept {
  double most = 0;
  for (const Level& level : curve) {
    most = std::max(most, level.rate);
  }
  return most;
}

/// The first level of a curve in ascending order that gives nearly the highest rate. A deeper queue that adds less than 5 % makes
/// every request wait longer for nothing. Of an empty curve, `Level{}`.
inline Level knee(std::span<const Level> curve) noexcept {
  const double needed = 0.95 * highest_rate(curve);
  const auto found = std::find_if(curve.begin(), curve.end(), [&](const Level& level) { return level.rate >= needed; });
  return found != curve.end() ? *found : Level{};
}

}  // namespace dovetail::device
