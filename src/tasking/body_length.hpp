// How long the bodies take that a worker runs, on an average of the last ones. One in a few is measured, so that it costs nothing.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "base/clock.hpp"

namespace dovetail::tasking {

class BodyLength {
 public:
  /// @name For the worker alone
  /// @{
  void begins() noexcept {
    if (++begun_ % period == 0) [[unlikely]] {
      begin_ = base::ticks();
    }
  }
  void ends() noexcept {
    if (begin_ != 0) [[unlikely]] {
      measure();
    }
  }
  /// It pauses, and may end elsewhere.
  void is_interrupted() noexcept { begin_ = 0; }
  /// @}

  /// Whether moving such a task to another worker takes longer than its body. Any thread.
  bool is_small() const noexcept { return is_below(400); }
  /// Whether what a worker does between two bodies does not show. Any thread.
  bool is_long() const noexcept { return !is_below(1000); }
  /// Whether reading the clock between two bodies does not show. Any thread.
  bool hide_the_clock() const noexcept { return !is_below(1900); }

 private:
  static constexpr std::uint32_t period = 16;
  static constexpr std::int64_t weight = 8;
  // A longer body counts for this: one that took long by chance, by an interrupt say, does not make up for many.
  static constexpr std::uint64_t most_microseconds = 2;

  bool is_below(std::uint64_t nanoseconds) const noexcept {
    return 1000 * std::uint64_t{usual_.load(std::memory_order_relaxed)} < nanoseconds * base::ticks_per_microsecond();
  }
  [[gnu::noinline]] void measure() noexcept {
    const std::uint64_t longest = most_microseconds * base::ticks_per_microsecond();
    const auto body = static_cast<std::int64_t>(std::min(base::ticks() - std::exchange(begin_, 0), longest));
    const std::int64_t usual = usual_.load(std::memory_order_relaxed);
    usual_.store(static_cast<std::uint32_t>(usual + (body - usual) / weight), std::memory_order_relaxed);
  }

  std::atomic<std::uint32_t> usual_{1U << 20};  ///< In ticks. Long until it is known.
  std::uint32_t begun_ = 0;
  std::uint64_t begin_ = 0;  ///< Of the body that runs, in ticks; 0: it is not measured.
};

}  // namespace dovetail::tasking
