// What is done for the guesses about a file: by the helper in a program, or by an observer outside of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "prefetch/detection_table.hpp"
#include "prefetch/page_cache.hpp"

namespace dovetail::prefetching {

/// `system` is about the open file, as in block_advice.hpp; what is wholly cached is not asked for.
template <class System>
void give_detected(DetectedFile& file, const System& system) noexcept {
  const Range whole{0, file.size.load(std::memory_order_relaxed)};
  if (file.asked.load(std::memory_order_relaxed) == 0 && are_all(system.cached_pages(whole), whole)) {
    if (system.has_the_file()) {
      file.given_up.store(all_is_cached, std::memory_order_relaxed);
    }
    return;
  }
  // Others can write into the memory: there is an end to what they may ask for.
  constexpr std::uint32_t most_ranges = 4096;
  constexpr std::uint32_t most_at_a_time = 1024;  // on the helper's own stack
  constexpr std::uint64_t most_bytes = 1U << 30;
  std::uint64_t left = most_bytes;
  const auto give = [&](Range range) noexcept {
    if (left == 0 || range.offset >= range.end ||
        range.end > std::min(file.size.load(std::memory_order_relaxed), far_end)) {
      return false;
    }
    const std::uint64_t bytes = std::min(range.end - range.offset, left);
    left -= bytes;
    range.end = range.offset + bytes;
    return are_all(system.cached_pages(range), range) || system.will_need(range);
  };
  Range range{};
  for (std::uint32_t count = 0; count < most_ranges && file.detector.take(range); ++count) {
    if (!give(range)) {
      return;
    }
  }
  std::array<Range, most_at_a_time> ranges{};
  for (std::uint32_t taken = 0; taken < most_ranges; taken += most_at_a_time) {
    const std::uint32_t count = file.repetition.take(ranges.data(), most_at_a_time, file.gap);
    if (count == 0 || !std::ranges::all_of(ranges.begin(), ranges.begin() + count, give)) {
      return;
    }
  }
}

}  // namespace dovetail::prefetching
