// Which reads have waited for a device. What is observed and what is replayed are measured in this one way, so that they can be compared.
#pragma once

#include <cstdint>

namespace dovetail::prefetching {

/// Of a read of so many bytes that took so long: the nanoseconds in which the program waited. 0: it was as fast as from memory.
constexpr std::uint64_t waited_in(std::uint64_t bytes, std::uint64_t nanoseconds) noexcept {
  // A system call with a page or two, and memory that is copied at 1 GB/s.
  constexpr std::uint64_t of_a_call = 100'000;
  return nanoseconds > of_a_call && nanoseconds - of_a_call > bytes ? nanoseconds : 0;
}

}  // namespace dovetail::prefetching
