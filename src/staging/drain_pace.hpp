// The limit of the rate at which the drains of a process write.
#pragma once

#include <atomic>
#include <cstdint>

namespace dovetail::staging {

/// All drains share one: what one of them writes, the others wait for. Thread-safe, and without a lock.
class DrainPace {
 public:
  /// When a request may begin that asks at `now`, in nanoseconds. @param bytes_per_second more than 0
  std::uint64_t turn(std::uint64_t now, std::uint64_t bytes, std::uint64_t bytes_per_second) noexcept {
    const auto takes =
        static_cast<std::uint64_t>(static_cast<double>(bytes) * 1e9 / static_cast<double>(bytes_per_second));
    std::uint64_t free = free_.load(std::memory_order_relaxed);
    std::uint64_t begin = 0;
    do {
      begin = free > now ? free : now;
    } while (!free_.compare_exchange_weak(free, begin + takes, std::memory_order_relaxed));
    return begin;
  }

  /// Of this process.
  static DrainPace& of_process() noexcept {
    static DrainPace pace;
    return pace;
  }

 private:
  std::atomic<std::uint64_t> free_{0};  // from then on the next one may begin
};

}  // namespace dovetail::staging
