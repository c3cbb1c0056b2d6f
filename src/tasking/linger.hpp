// Whether an idle worker goes on polling a service before it sleeps. Numbers only.
#pragma once

#include <atomic>
#include <chrono>

namespace dovetail::tasking {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

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
    if (in_vain < most_in_vain) {
      return usual;
    }
    return asked_in_vain_.fetch_add(1, std::memory_order_relaxed) % sleeps_between_trials == 0 ? usual : nanoseconds{};
  }
  /// A worker has lingered, and something came before the time was over, or not.
  void ended(bool found) noexcept {
    if (found) {
      in_vain_.store(0, std::memory_order_relaxed);
    } else if (in_vain_.load(std::memory_order_relaxed) < most_in_vain) {
      in_vain_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  static constexpr nanoseconds usual = microseconds(100);
  static constexpr unsigned most_in_vain = 8;
  static constexpr unsigned sleeps_between_trials = 16;

 private:
  const nanoseconds fixed_;
  std::atomic<unsigned> in_vain_{0};
  std::atomic<unsigned> asked_in_vain_{0};
};

}  // namespace dovetail::tasking
