// Guesses whether the next slice of a task will be short, from the last slices of its kind. While slices are short, requests
// prepared in them are worth collecting and handing over together; before a long one they must go.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/clock.hpp"
#include "base/sanitizer.hpp"
#include "tasking/wait_reason.hpp"

namespace dovetail::tasking {

/// Slices that are predicted together: those that begin a body, and those that go on with it after a pause of one kind. A task that reads a
/// block and computes with it has a short one and a long one. So has a task that computes after it has yielded, and ends after it has waited
/// for another.
struct SliceKind {
  const void* body = nullptr;
  WaitReason after = WaitReason::none;
  bool operator==(const SliceKind&) const = default;
};

class SlicePredictor {
 public:
  /// A slice that lasts longer than this is long. Instrumented code takes so much longer.
#if DOVETAIL_THREAD_SANITIZER
  static constexpr std::uint64_t short_microseconds = 240;
#else
  static constexpr std::uint64_t short_microseconds = 12;
#endif

  bool is_short(const SliceKind& kind) const noexcept {
    const Entry& entry = entries_[index_of(kind)];
    return entry.kind == kind && entry.short_streak >= 2;
  }
  /// So many were short that something may be staked on it: the average of the last ones is. An interrupt in one of them, which
  /// takes the time of a few, does not count against it; one that computes does.
  bool is_surely_short(const SliceKind& kind) const noexcept {
    const Entry& entry = entries_[index_of(kind)];
    return entry.kind == kind && entry.short_streak >= 1 && entry.average < limit_;
  }
  void observe(const SliceKind& kind, std::uint64_t ticks) noexcept {
    Entry& entry = entries_[index_of(kind)];
    if (entry.kind != kind) {
      entry = {kind, 0, unknown * limit_};  // about 32 must be short until the average is
    }
    entry.average += std::min(ticks, longest_) / weight - entry.average / weight;
    if (ticks > limit_) {
      entry.short_streak = 0;
    } else if (entry.short_streak < 2) {
      ++entry.short_streak;
    }
  }

 private:
  static constexpr std::uint64_t weight = 16;
  static constexpr std::uint64_t unknown = 6;
  struct Entry {
    SliceKind kind;
    std::uint8_t short_streak = 0;
    std::uint64_t average = 0;  ///< In ticks.
  };
  static std::size_t index_of(const SliceKind& kind) noexcept {
    return ((reinterpret_cast<std::uintptr_t>(kind.body) >> 3) + static_cast<std::uintptr_t>(kind.after)) % 64;
  }
  std::array<Entry, 64> entries_{};
  const std::uint64_t limit_ = short_microseconds * base::ticks_per_microsecond();
  const std::uint64_t longest_ = 16 * limit_;  ///< Counts for one.
};

}  // namespace dovetail::tasking
