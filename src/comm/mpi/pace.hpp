// How often the library is asked while cores are busy, and how long an idle worker goes on asking before it sleeps. Numbers only.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace dovetail::comm::mpi {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

/// The time between two polls while all cores are busy. Polling takes a share of one core that is bounded, whatever a poll costs; in a long
/// wait it gets rare. Not thread-safe.
class Interval {
 public:
  /// `fixed`: it stays so; negative: it adapts.
  explicit Interval(nanoseconds fixed) noexcept : fixed_(fixed) {}
  nanoseconds now() const noexcept { return fixed_ >= nanoseconds{} ? fixed_ : current_; }
  /// A poll took so long, and found something or not.
  void polled(nanoseconds took, bool found) noexcept {
    cost_ = (7 * cost_ + took) / 8;
    const nanoseconds shortest = std::clamp<nanoseconds>(inverse_of_share * cost_, shortest_of_all, longest);
    current_ = found ? shortest : std::clamp<nanoseconds>(current_ + current_ / 4, shortest, longest);
  }

  static constexpr int inverse_of_share = 50;  ///< 2 % of a core.
  static constexpr nanoseconds shortest_of_all = microseconds(20);
  static constexpr nanoseconds longest = microseconds(500);

 private:
  const nanoseconds fixed_;
  nanoseconds cost_{0};
  nanoseconds current_ = shortest_of_all;
};

/// How long an idle worker lingers: for about as long as a sleep and being woken take, where that usually pays, and hardly ever where it
/// does not. Not thread-safe.
class Linger {
 public:
  /// `fixed`: it stays so; negative: it is learned.
  explicit Linger(nanoseconds fixed) noexcept : fixed_(fixed) {}
  nanoseconds now() const noexcept {
    if (fixed_ >= nanoseconds{}) {
      return fixed_;
    }
    return current_ >= shortest || refused_ == trials ? std::max(current_, shortest) : nanoseconds{};
  }
  /// A worker was about to sleep and was told not to linger.
  void refused() noexcept { refused_ = refused_ == trials ? refused_ : refused_ + 1; }
  /// A worker has lingered, and something had come before the time was over, or not.
  void ended(bool found) noexcept {
    refused_ = 0;
    if (found) {
      in_vain_ = 0;
      current_ = longest;
    } else if (++in_vain_ == patience) {
      in_vain_ = 0;
      current_ /= 2;
    }
  }

  static constexpr nanoseconds longest = microseconds(100);
  static constexpr nanoseconds shortest = microseconds(5);
  static constexpr unsigned patience = 8;
  static constexpr unsigned trials = 16;  ///< Each so many sleeps it is tried again.

 private:
  const nanoseconds fixed_;
  nanoseconds current_ = longest;
  unsigned in_vain_ = 0;
  unsigned refused_ = 0;
};

}  // namespace dovetail::comm::mpi
