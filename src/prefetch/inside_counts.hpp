// What is read ahead from inside of this process, by the way in which it is known: `dovetail prefetch status` finds it among the process's open files.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "prefetch/waiting.hpp"

namespace dovetail::prefetching {

/// How it is known what the program will read. As in python/dovetail/inside_counts.py.
enum class Way : std::uint8_t { tasks, calls, steps };
inline constexpr std::size_t ways = 3;

/// Of one way, of all files and runtimes of the process. A child has those of its parent. All bytes zero is nothing. Any thread.
struct WayCounts {
  std::atomic<std::uint64_t> asked;   // bytes that the system was asked to read, or that were read into memory of ours
  std::atomic<std::uint64_t> unread;  // bytes that were brought, or are about to be, and that nothing has come to
  ReadCounts reads;                   // of what was read ahead; those that `waited` came before their bytes
};

struct InsideCounts {
  static constexpr std::uint64_t expected_magic = 0x3130454449534e49;  // "INSIDE01"
  std::uint64_t magic;
  std::array<WayCounts, ways> by_way;
};
static_assert(sizeof(InsideCounts) == 8 + ways * 40);

/// The first call makes the memory, with a descriptor that stays open. Where the system refuses the memory, the counts stay in this process, and `dovetail prefetch status` does not show them.
WayCounts& counts_of(Way way) noexcept;

}  // namespace dovetail::prefetching
