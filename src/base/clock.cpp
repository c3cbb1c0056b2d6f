#include "base/clock.hpp"

#include <algorithm>

namespace dovetail::base {
namespace {

// The same moment on both clocks.
struct Moment {
  TimePoint time;
  std::uint64_t ticks;
};

// The system may take the processor away between the two looks, for milliseconds. So the moment is the one that two looks at the
// steady clock enclose most closely.
Moment look_at_both() noexcept {
  constexpr int looks = 8;
  Moment best{};
  auto closest = Clock::duration::max();
  for (int look = 0; look < looks; ++look) {
    const TimePoint before = Clock::now();
    const std::uint64_t now = ticks();
    const Clock::duration between = Clock::now() - before;
    if (between < closest) {
      closest = between;
      best = {before + between / 2, now};
    }
  }
  return best;
}

}  // namespace

std::uint64_t measure_ticks_per_microsecond() noexcept {
  // Long enough for an error of about one per cent, short enough not to be noticed at start.
  constexpr std::chrono::microseconds least(20);
  const Moment begin = look_at_both();
  Moment end = look_at_both();
  while (end.time - begin.time < least) {
    end = look_at_both();
  }
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(end.time - begin.time).count();
  return std::max<std::uint64_t>(1, (end.ticks - begin.ticks) * 1000 / static_cast<std::uint64_t>(nanoseconds));
}

std::uint64_t ticks_per_microsecond() noexcept {
  static const std::uint64_t rate = measure_ticks_per_microsecond();
  return rate;
}

}  // namespace dovetail::base
