// The problem: something has to be done every millisecond while all cores compute. How late it is done.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "harness/harness.hpp"

namespace bench {

class Late {
 public:
  /// Declares its options on the command line.
  explicit Late(CommandLine& line)
      : report_(line),
        times_(line.size("times", 500, "times that it is done")),
        body_(line.size("body", 5000, "microseconds that each body computes")) {}

  static constexpr std::chrono::nanoseconds period = std::chrono::milliseconds(1);

  /// What a body does.
  void compute() const noexcept {
    for (const std::int64_t end = wall_nanoseconds() + 1000 * body_; wall_nanoseconds() < end;) {
    }
  }
  /// It is being done; the next time is due `period` later. Not the first time: nothing says when that was due.
  void done() {
    const std::int64_t now = wall_nanoseconds();
    if (last_ != 0) {
      const auto late = static_cast<double>(now - last_ - period.count());
      report_.add("ns", late);
      worst_ = std::max(worst_, late);
    }
    last_ = now;
    if (++count_ > times_) ended_.store(true, std::memory_order_release);
  }
  bool ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  [[nodiscard]] int finish() {
    report_.add("worst_ns", worst_);
    return report_.finish();
  }

 private:
  Report report_;
  const std::int64_t& times_;
  const std::int64_t& body_;
  double worst_ = 0;
  std::int64_t last_ = 0;
  std::int64_t count_ = 0;
  std::atomic<bool> ended_{false};
};

}  // namespace bench
