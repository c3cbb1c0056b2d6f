// Counts what tasks did without making them share a cache line: one slot for each thread that ever counts.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace bench {

constexpr int most_threads = 1024;

/// A small number that is this thread's own for its whole life. Ends the program when more than `most_threads` ask.
inline int thread_slot() noexcept {
  static std::atomic<int> next{0};
  thread_local int slot = -1;
  if (slot < 0) {
    slot = next.fetch_add(1, std::memory_order_relaxed);
    if (slot >= most_threads) {
      std::fprintf(stderr, "more than %d threads ran tasks\n", most_threads);
      std::abort();
    }
  }
  return slot;
}

/// A count that any thread adds to for the price of a plain add. `total` is exact once the adders have been waited for.
class Counter {
 public:
  void add() noexcept {
    // Only the slot's own thread writes it; the release lets `total` be read while tasks still run.
    auto& count = slots_[static_cast<std::size_t>(thread_slot())].count;
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  [[nodiscard]] std::int64_t total() const noexcept {
    std::int64_t sum = 0;
    for (const Slot& slot : slots_) sum += slot.count.load(std::memory_order_acquire);
    return sum;
  }

  void clear() noexcept {
    for (Slot& slot : slots_) slot.count.store(0, std::memory_order_relaxed);
  }

 private:
  struct alignas(64) Slot {
    std::atomic<std::int64_t> count{0};
  };
  std::array<Slot, most_threads> slots_;
};

}  // namespace bench
