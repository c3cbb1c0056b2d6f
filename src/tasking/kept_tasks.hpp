// Tasks with short slices that a worker keeps to itself: it wakes no other for them, since that takes longer than to run them.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/clock.hpp"

namespace dovetail::tasking {

class KeptTasks {
 public:
  /// @name For the worker alone. Times are in ticks.
  /// @{
  void keep() noexcept { any_.store(true, std::memory_order_relaxed); }
  /// They have run, or others are told of them. Returns whether there were any.
  bool clear() noexcept {
    const bool any = any_.load(std::memory_order_relaxed);
    if (any) {
      any_.store(false, std::memory_order_relaxed);
    }
    return any;
  }
  void slice_begins(std::uint64_t now) noexcept { slice_.store(now, std::memory_order_relaxed); }
  std::uint64_t slice_began() const noexcept { return slice_.load(std::memory_order_relaxed); }
  /// @}

  /// Whether others had better leave them: there are some, and the worker gets on with them. A slice that takes longer than 50 us was not
  /// short. Any thread.
  bool are_left_alone(std::uint64_t now) const noexcept {
    // Negative if the slice began after `now`.
    const auto age = static_cast<std::int64_t>(now - slice_.load(std::memory_order_relaxed));
    return any_.load(std::memory_order_relaxed) && age < static_cast<std::int64_t>(50 * base::ticks_per_microsecond());
  }

 private:
  std::atomic<bool> any_{false};
  std::atomic<std::uint64_t> slice_{0};  ///< When the last one began; only while there are operations.
};

}  // namespace dovetail::tasking
