// How often mailboxes are looked at while cores are busy. Numbers only.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>

namespace dovetail::comm::rma {

/// The time between two polls. A poll is a load for each rank, and the bell tells of what comes while all workers sleep. So the clock matters only
/// while all of them compute for long. It is slow in a long wait. Any thread.
class Interval {
 public:
  static constexpr std::chrono::nanoseconds shortest = std::chrono::microseconds(20);
  static constexpr std::chrono::nanoseconds rarely = std::chrono::microseconds(500);
  static constexpr std::chrono::nanoseconds longest = std::chrono::milliseconds(10);

  std::chrono::nanoseconds now() const noexcept {
    return std::chrono::nanoseconds(current_.load(std::memory_order_relaxed));
  }
  /// Something was found lately.
  bool is_short() const noexcept { return now() < rarely; }
  /// A poll by the clock found something, or not.
  void polled(bool found) noexcept { current_.store((found ? shortest : grown()).count(), std::memory_order_relaxed); }
  /// An idle worker, which polls all the time, found something.
  void found() noexcept { current_.store(shortest.count(), std::memory_order_relaxed); }

 private:
  std::chrono::nanoseconds grown() const noexcept { return std::min(now() + now() / 4, longest); }
  std::atomic<std::chrono::nanoseconds::rep> current_{shortest.count()};
};

}  // namespace dovetail::comm::rma
