#include "base/clock.hpp"

#include <algorithm>

namespace dovetail::base {

std::uint64_t ticks_per_microsecond() noexcept {
  static const std::uint64_t rate = [] {
    const TimePoint begin = Clock::now();
    const std::uint64_t first = ticks();
    TimePoint now = begin;
    // Long enough for an error of about one per cent, short enough not to be noticed at start.
    while (now - begin < std::chrono::microseconds(20)) {
      now = Clock::now();
    }
    const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(now - begin).count();
    return std::max<std::uint64_t>(1, (ticks() - first) * 1000 / static_cast<std::uint64_t>(nanoseconds));
  }();
  return rate;
}

}  // namespace dovetail::base
