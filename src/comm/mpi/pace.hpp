// How often the library is asked while cores are busy, and whether an idle worker goes on asking before it sleeps. Numbers only.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace dovetail::comm::mpi {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

/// The time between two polls while all cores are busy. Polling takes a bounded share of one core, whatever a poll costs; in a long wait it
/// gets rare. Told by one thread at a time, asked by any.
class Interval {
 public:
  /// `fixed`: it stays so; negative: it adapts.
  explicit Interval(nanoseconds fixed) noexcept : fixed_(fixed) {}
  nanoseconds now() const noexcept {
    return fixed_ >= nanoseconds{} ? fixed_ : nanoseconds(current_.load(std::memory_order_relaxed));
  }
  /// A poll took so long, and found something or not.
  void polled(nanoseconds took, bool found) noexcept {
    cost_ = (7 * cost_ + took) / 8;
    const nanoseconds before{current_.load(std::memory_order_relaxed)};
    const nanoseconds next = std::clamp<nanoseconds>(before + before / 4, shortest(), std::max(shortest(), longest));
    current_.store((found ? shortest() : next).count(), std::memory_order_relaxed);
  }
  /// A poll of an idle worker, which asks all the time, found something.
  void found() noexcept { current_.store(shortest().count(), std::memory_order_relaxed); }

  static constexpr int polls_in_a_share = 50;  ///< A poll takes 2 % of the time.
  static constexpr nanoseconds shortest_of_all = microseconds(20);
  static constexpr nanoseconds longest = microseconds(500);  ///< In a long wait, unless the share asks for more.

 private:
  nanoseconds shortest() const noexcept { return std::max<nanoseconds>(polls_in_a_share * cost_, shortest_of_all); }

  const nanoseconds fixed_;
  nanoseconds cost_{0};
  std::atomic<nanoseconds::rep> current_{shortest_of_all.count()};
};

/// Whether an idle worker lingers: for about as long as a sleep and being woken take, until that was in vain several times; then rarely,
/// until it was not. Any thread.
class Linger {
 public:
  /// `fixed`: it always lingers so long; negative: as above.
  explicit Linger(nanoseconds fixed) noexcept : fixed_(fixed) {}
  /// For a worker that is about to sleep: how long it lingers.
  nanoseconds ask() noexcept {
    if (fixed_ >= nanoseconds{}) {
      return fixed_;
    }
    const unsigned in_vain = in_vain_.load(std::memory_order_relaxed);
    if (in_vain < patience) {
      return usual;
    }
    return asked_in_vain_.fetch_add(1, std::memory_order_relaxed) % sleeps_between_trials == 0 ? usual : nanoseconds{};
  }
  /// A worker has lingered, and something came before the time was over, or not.
  void ended(bool found) noexcept {
    if (found) {
      in_vain_.store(0, std::memory_order_relaxed);
    } else if (in_vain_.load(std::memory_order_relaxed) < patience) {
      in_vain_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  static constexpr nanoseconds usual = microseconds(100);
  static constexpr unsigned patience = 8;
  static constexpr unsigned sleeps_between_trials = 16;

 private:
  const nanoseconds fixed_;
  std::atomic<unsigned> in_vain_{0};
  std::atomic<unsigned> asked_in_vain_{0};
};

}  // namespace dovetail::comm::mpi
