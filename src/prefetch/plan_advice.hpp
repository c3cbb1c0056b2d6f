// What is done for a plan whose advice is due: by the helper in a program, or by an observer outside of it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "prefetch/advice.hpp"
#include "prefetch/asking.hpp"
#include "prefetch/plan.hpp"

namespace dovetail::prefetching {

/// `system` is about the open file, as in asking.hpp; what is wholly cached is not asked for. A program that closes the file, and opens it again, gets by its next read
/// what it did not get before.
template <class System>
void give_plan(const FilePlan& plan, const System& system) noexcept {
  if (plan.count != 0 && plan.progress->issued.load(std::memory_order_relaxed) == 0 &&
      is_left_as_cached(system, plan.size, plan.progress->given_up)) {
    return;
  }
  // Others can write into the memory: there is an end to what they may ask for.
  constexpr std::uint32_t most_ranges = 1U << 16;
  constexpr std::uint64_t most_bytes = std::uint64_t{8} << 30;
  std::uint32_t count = 0;
  std::uint64_t left = most_bytes;
  Advice advice;
  for (advice.take(plan); !advice.empty(); advice.take(plan)) {
    for (const Range& whole : advice) {
      const Range range{whole.offset, whole.offset + std::min(whole.end - whole.offset, left)};
      left -= range.end - range.offset;
      if (range.offset < range.end && !ask_unless_cached(system, range)) {
        advice.give_back(plan);
        return;
      }
      if (++count == most_ranges || left == 0) {
        return;
      }
    }
  }
}

}  // namespace dovetail::prefetching
