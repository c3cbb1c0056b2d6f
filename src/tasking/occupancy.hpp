// How much of its time a worker is awake, over the last millisecond or two: whether it could do another one's work as well.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"

namespace dovetail::tasking {

class Occupancy {
 public:
  /// @name For the worker's own thread. Times are in ticks.
  /// @{
  void falls_asleep(std::uint64_t now) noexcept { fell_asleep_ = now; }
  /// Returns whether that was a sleep at all: what was over at once was the time that the system took to begin requests.
  bool wakes(std::uint64_t now) noexcept {
    const std::uint64_t asleep = now - fell_asleep_;
    if (asleep < least_microseconds_asleep * base::ticks_per_microsecond()) {
      return false;
    }
    woke_ = now;
    slept_ += asleep;
    return true;
  }
  /// Returns whether `percent` has just been determined anew.
  bool window_ends(std::uint64_t now) noexcept {
    const std::uint64_t window = now - window_begin_;
    if (window < window_microseconds * base::ticks_per_microsecond()) {
      return false;
    }
    percent_.store(static_cast<std::uint32_t>(100 * (window - slept_) / window), std::memory_order_relaxed);
    determined_.store(now, std::memory_order_relaxed);
    window_begin_ = now;
    slept_ = 0;
    return true;
  }
  /// When it last woke from a sleep.
  std::uint64_t woke() const noexcept { return woke_; }
  /// @}

  /// Any thread. Hundred if that has not been determined for long: it computes.
  std::uint32_t percent(std::uint64_t now) const noexcept {
    // Negative if it was determined after `now`.
    const auto age = static_cast<std::int64_t>(now - determined_.load(std::memory_order_relaxed));
    const auto oldest = static_cast<std::int64_t>(stale_microseconds * base::ticks_per_microsecond());
    return age > oldest ? 100 : percent_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t least_microseconds_asleep = 8;
  static constexpr std::uint64_t window_microseconds = 1000;
  static constexpr std::uint64_t stale_microseconds = 10'000;
  std::uint64_t fell_asleep_ = 0;
  std::uint64_t woke_ = 0;
  std::uint64_t window_begin_ = 0;
  std::uint64_t slept_ = 0;
  std::atomic<std::uint64_t> determined_{0};
  std::atomic<std::uint32_t> percent_{100};
};

}  // namespace dovetail::tasking
