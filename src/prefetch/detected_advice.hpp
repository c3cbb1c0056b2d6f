// What is done for the guesses about a file: by the helper in a program, or by an observer outside of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "prefetch/asking.hpp"
#include "prefetch/detection_table.hpp"

namespace dovetail::prefetching {

/// `system` is about the open file, as in asking.hpp; what is wholly cached is not asked for.
template <class System>
void give_detected(DetectedFile& file, const System& system) noexcept {
  if (file.asked.load(std::memory_order_relaxed) == 0 &&
      is_left_as_cached(system, file.size.load(std::memory_order_relaxed), file.given_up)) {
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
    return ask_unless_cached(system, range);
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
