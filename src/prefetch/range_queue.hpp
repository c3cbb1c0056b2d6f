// Ranges that wait until they are asked for.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "prefetch/ranges.hpp"

namespace dovetail::prefetching {

/// Has room for `Most` ranges, in memory that several processes share. One thread at a time puts them in, and any number take them out, at the same
/// time. All bytes zero is an empty one. Others may write into the memory: whatever stands there, nothing is touched outside of it.
template <std::uint32_t Most>
class RangeQueue {
 public:
  static constexpr std::uint32_t most = Most;

  /// False: there is no room. What was not taken is never overwritten.
  bool push(const Range& range) noexcept {
    const std::uint32_t head = head_.load(std::memory_order_relaxed);
    if (head - tail_.load(std::memory_order_acquire) >= Most) {
      return false;
    }
    bounds_[head % Most * 2].store(range.offset, std::memory_order_relaxed);
    bounds_[head % Most * 2 + 1].store(range.end, std::memory_order_relaxed);
    head_.store(head + 1, std::memory_order_release);
    return true;
  }
  /// False: there is none.
  bool take(Range& range) noexcept {
    std::uint32_t tail = tail_.load(std::memory_order_relaxed);
    do {
      if (tail == head_.load(std::memory_order_acquire)) {
        return false;
      }
      range = {bounds_[tail % Most * 2].load(std::memory_order_relaxed),
               bounds_[tail % Most * 2 + 1].load(std::memory_order_relaxed)};
    } while (!tail_.compare_exchange_weak(tail, tail + 1, std::memory_order_acq_rel));
    return true;
  }
  bool empty() const noexcept { return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_relaxed); }
  /// For the one thread that puts in, as all that follows.
  std::uint32_t waiting() const noexcept {
    return head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_acquire);
  }
  /// The number that the next range gets.
  std::uint32_t next() const noexcept { return head_.load(std::memory_order_relaxed); }
  /// Whether the range with this number waits; it has been put in, not longer ago than the queue has room for.
  bool waits(std::uint32_t number) const noexcept { return number - tail_.load(std::memory_order_relaxed) < Most; }
  void clear() noexcept { tail_.store(head_.load(std::memory_order_relaxed), std::memory_order_release); }

 private:
  std::atomic<std::uint32_t> head_;
  std::atomic<std::uint32_t> tail_;
  std::array<std::atomic<std::uint64_t>, 2 * Most> bounds_;
};

}  // namespace dovetail::prefetching
