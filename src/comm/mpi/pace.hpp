// How often the library is asked while cores are busy. Numbers only.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

namespace dovetail::comm::mpi {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

/// The time between two polls while all cores are busy, and how much a poll looks at. Polling takes a bounded share of one core, whatever it
/// costs; in a long wait it gets rare, and looks at more. Told by one thread at a time, asked by any.
class Interval {
 public:
  /// `fixed`: it stays so while cores compute, as far as the share allows; negative: it adapts.
  explicit Interval(nanoseconds fixed) noexcept : fixed_(fixed) {}
  nanoseconds now() const noexcept {
    const bool adapts = fixed_ < nanoseconds{} || takes_time_of_none_.load(std::memory_order_relaxed);
    return adapts ? nanoseconds(current_.load(std::memory_order_relaxed)) : std::max(fixed_, affordable());
  }
  /// So many looks may be taken in a poll. They are as many as the share has room for, or as take as long as waking the thread for it.
  unsigned looks() const noexcept {
    const nanoseconds room = std::max(now() / polls_in_a_share, waking_.get());
    return static_cast<unsigned>(
        std::clamp<nanoseconds::rep>(room / std::max(look_.get(), nanoseconds(1)), 1, most_looks));
  }
  /// A poll of so many looks took so long, and found something or not. `waking`: what it took to wake the thread for it. `takes_time_of_none`:
  /// no core computes. Then what comes is found soon after what has come, whatever that costs. One that `moved` data has not spent its time on looking.
  void polled(nanoseconds took, unsigned looks, nanoseconds waking, bool found, bool moved,
              bool takes_time_of_none) noexcept {
    if (!moved) {
      look_.follow(took / looks);
    }
    waking_.follow(std::min(waking, most_waking));
    takes_time_of_none_.store(takes_time_of_none, std::memory_order_relaxed);
    const nanoseconds least = takes_time_of_none ? shortest_of_all : shortest();
    const nanoseconds before{current_.load(std::memory_order_relaxed)};
    const nanoseconds next = std::clamp<nanoseconds>(before + before / 4, least, std::max(affordable(), longest));
    current_.store((found || moved ? least : next).count(), std::memory_order_relaxed);
  }
  /// A poll of an idle worker, which asks all the time, found something.
  void found() noexcept { current_.store(shortest().count(), std::memory_order_relaxed); }

  static constexpr int polls_in_a_share = 100;  ///< A look takes 1 % of the time,
  static constexpr int wakes_in_a_share = 50;   ///< or with waking the thread for it 2 %, where nothing comes.
  static constexpr nanoseconds most_waking = microseconds(50);
  static constexpr unsigned most_looks = 16;
  static constexpr nanoseconds shortest_of_all = microseconds(20);
  static constexpr nanoseconds longest = microseconds(1000);  ///< In a long wait, unless the share asks for more.

 private:
  // What something takes. One time moves it by an eighth at most: it may have been interrupted, which costs a thousand times as much and says
  // nothing.
  class Cost {
   public:
    explicit Cost(nanoseconds first) noexcept : cost_(first.count()) {}
    nanoseconds get() const noexcept { return nanoseconds(cost_.load(std::memory_order_relaxed)); }
    void follow(nanoseconds took) noexcept {
      const nanoseconds cost = get();
      const nanoseconds step = cost / 8 + nanoseconds(10);
      cost_.store(std::clamp(took, cost - step, cost + step).count(), std::memory_order_relaxed);
    }

   private:
    std::atomic<nanoseconds::rep> cost_;
  };

  // After messages that have come, more are likely: then waking the thread is worth it.
  nanoseconds shortest() const noexcept {
    return std::max<nanoseconds>(polls_in_a_share * look_.get(), shortest_of_all);
  }
  nanoseconds affordable() const noexcept {
    return std::max(shortest(), wakes_in_a_share * (look_.get() + waking_.get()));
  }

  const nanoseconds fixed_;
  Cost look_{nanoseconds(1000)};
  Cost waking_{nanoseconds(0)};
  std::atomic<nanoseconds::rep> current_{shortest_of_all.count()};
  std::atomic<bool> takes_time_of_none_{false};  ///< At the last poll, no core computed.
};

/// Whether polls move data. The library moves a large message piece by piece, one in each poll, and says nothing before the last one. But that
/// takes longer than a poll in vain. Told by one thread at a time.
class Movement {
 public:
  /// A look that found nothing took so long. @returns Whether it moved data, as the one before did: one alone may have been interrupted.
  bool seen(nanoseconds took) noexcept {
    const bool is_long = took > std::max<Duration>(times_longer * usual_, least);
    // Where all looks take longer from now on, that is usual some time.
    usual_ = std::min<Duration>(took, usual_ + usual_ / (is_long ? forgets_while_moving : forgets));
    return std::exchange(last_was_long_, is_long) && is_long;
  }

  static constexpr int times_longer = 3;
  static constexpr nanoseconds least = microseconds(1);  ///< As long as a copy of 8 KiB.

 private:
  using Duration = std::chrono::duration<double, std::nano>;
  static constexpr int forgets = 64;
  static constexpr int forgets_while_moving = 65536;
  Duration usual_ = microseconds(1);  ///< About the shortest of the last ones.
  bool last_was_long_ = false;
};

}  // namespace dovetail::comm::mpi
