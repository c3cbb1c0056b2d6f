// Time. Deadlines use the steady clock; `ticks` is for comparing short spans on one core only.
#pragma once

#include <ctime>

#include <chrono>
#include <cstdint>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace dovetail::base {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;

/// `duration` after `begin`, which may be too long for the clock: then a time that never comes.
inline TimePoint deadline_after(TimePoint begin, std::chrono::nanoseconds duration) noexcept {
  const TimePoint latest = TimePoint::max() - std::chrono::hours(1);
  return duration < latest - begin ? begin + duration : latest;
}

/// Of the same clock, as a number.
inline std::uint64_t nanoseconds() noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count());
}

/// The same, some milliseconds old at most, in a quarter of the time.
inline std::uint64_t coarse_nanoseconds() noexcept {
  constexpr std::uint64_t of_a_second = 1'000'000'000;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * of_a_second + static_cast<std::uint64_t>(now.tv_nsec);
}

inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
#endif
}

/// Ticks in a microsecond, measured once.
std::uint64_t ticks_per_microsecond() noexcept;
/// Measures it anew. An interruption of the calling thread does not distort it.
std::uint64_t measure_ticks_per_microsecond() noexcept;

}  // namespace dovetail::base
