// How long requests of one kind take at a device that has nothing else to do, and whether that is short enough for a worker which
// has nothing else to do either to wait for them in the system call. See docs/design/storage.md, "Alone".
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace dovetail::storage {

/// Thread-safe; approximate where several threads note at once.
class TimeAlone {
 public:
  /// Longest time, on average, for which a worker is kept: what comes meanwhile for it waits as long.
  static constexpr std::uint32_t longest_microseconds = 400;
  /// Requests after which a device that was slow is tried again; then twice as many, and so on.
  static constexpr std::uint32_t first_rest = 64;
  static constexpr std::uint32_t longest_rest = 4096;

  /// Whether the next request may be performed alone. One that may is followed by `note`.
  bool quick() noexcept {
    if (average_.load(std::memory_order_relaxed) <= longest_microseconds) [[likely]] {
      return true;
    }
    const std::uint32_t rest = rest_.load(std::memory_order_relaxed);
    rest_.store(rest - std::min(rest, 1U), std::memory_order_relaxed);
    return rest == 0;
  }
  /// What a request took, in microseconds.
  void note(std::uint64_t microseconds) noexcept {
    constexpr std::uint64_t most = 1'000'000'000;
    const auto took = static_cast<std::uint32_t>(std::min(microseconds, most));
    const std::uint32_t before = average_.load(std::memory_order_relaxed);
    // What was slow is judged by the one request that was tried.
    const std::uint32_t average = before > longest_microseconds ? took : before - before / 8 + took / 8;
    average_.store(average, std::memory_order_relaxed);
    if (average > longest_microseconds) {
      const std::uint32_t rest = next_rest_.load(std::memory_order_relaxed);
      rest_.store(rest, std::memory_order_relaxed);
      next_rest_.store(std::min(2 * rest, longest_rest), std::memory_order_relaxed);
    } else if (before > longest_microseconds) {
      next_rest_.store(first_rest, std::memory_order_relaxed);
    }
  }

 private:
  std::atomic<std::uint32_t> average_{0};  // In microseconds.
  std::atomic<std::uint32_t> rest_{0};
  std::atomic<std::uint32_t> next_rest_{first_rest};
};

}  // namespace dovetail::storage
