// Which reads have waited for a device. What is observed and what is replayed are measured in this one way, so that they can be compared.
#pragma once

#include <atomic>
#include <cstdint>

namespace dovetail::prefetching {

/// Of a read of so many bytes that took so long: the nanoseconds in which the program waited. 0: it was as fast as from memory.
constexpr std::uint64_t waited_in(std::uint64_t bytes, std::uint64_t nanoseconds) noexcept {
  // A system call with a page or two, and memory that is copied at 1 GB/s.
  constexpr std::uint64_t of_a_call = 100'000;
  return nanoseconds > of_a_call && nanoseconds - of_a_call > bytes ? nanoseconds : 0;
}

/// The reads of one file, for the report of each way of reading ahead. All bytes zero is none. Any thread of any process that shares it.
struct ReadCounts {
  std::atomic<std::uint64_t> reads;
  std::atomic<std::uint64_t> waited;       // reads that took longer than from memory
  std::atomic<std::uint64_t> nanoseconds;  // that these took

  void count(std::uint64_t bytes, std::uint64_t took) noexcept {
    reads.fetch_add(1, std::memory_order_relaxed);
    if (const std::uint64_t in_vain = waited_in(bytes, took)) {
      waited.fetch_add(1, std::memory_order_relaxed);
      nanoseconds.fetch_add(in_vain, std::memory_order_relaxed);
    }
  }
};

}  // namespace dovetail::prefetching
