// The clock of the recording: the processor's time-stamp counter where it can be trusted, else CLOCK_MONOTONIC.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <string>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace dovetail::trace {

/// Nanoseconds of CLOCK_MONOTONIC.
inline std::uint64_t monotonic_nanoseconds() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Nanoseconds that the clock of the day is ahead of CLOCK_MONOTONIC.
std::int64_t wall_clock_ahead() noexcept;

/// What is the same in all processes in which CLOCK_MONOTONIC is the same: those of a machine since it was started, in one time namespace. Empty
/// where the kernel does not say.
std::string name_of_monotonic_clock();

/// Whether the counter runs at one rate on all cores and through idle states. The processor must say so, and the kernel must keep its own time
/// with it: the kernel compares cores and watches for drift. Decided at the first call, from any thread.
bool counter_is_trustworthy() noexcept;

/// Set to `counter_is_trustworthy()` before a recording can begin, so that recording asks no more than this.
extern std::atomic<bool> use_counter;

/// Ticks of the clock in use.
inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  if (use_counter.load(std::memory_order_relaxed)) return __rdtsc();
#endif
  return monotonic_nanoseconds();
}

/// One instant on both clocks. Two of them give the rate of the counter, measured over the recording itself.
struct ClockPair {
  std::uint64_t ticks = 0;
  std::uint64_t nanoseconds = 0;
};
/// Reads both clocks together, as closely as several tries allow.
ClockPair read_clocks() noexcept;

/// Turns the ticks of events into nanoseconds since the beginning of the recording.
class ClockScale {
 public:
  ClockScale() = default;
  ClockScale(ClockPair begin, ClockPair end) noexcept;

  /// `cut_ticks` are the lower 56 bits of a time. Times before the beginning, by what the counter was read ahead of its
  /// turn, give 0.
  std::int64_t nanoseconds(std::uint64_t cut_ticks) const noexcept;
  std::int64_t length() const noexcept { return length_; }

 private:
  std::uint64_t first_ = 0;
  double nanoseconds_per_tick_ = 1;
  std::int64_t length_ = 0;
};

}  // namespace dovetail::trace
