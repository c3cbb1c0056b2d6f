// What is done for a plan whose advice is due: by the helper in a program, or by an observer outside of it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "prefetch/advice.hpp"
#include "prefetch/page_cache.hpp"
#include "prefetch/plan.hpp"

namespace dovetail::prefetching {

/// `system` is about the open file, as in block_advice.hpp; what is wholly cached is not asked for.
template <class System>
void give_plan(const FilePlan& plan, const System& system) noexcept {
  // Once, before anything is asked for: what would have to be asked for each piece costs more than it brings.
  if (plan.count != 0 && plan.progress->issued.load(std::memory_order_relaxed) == 0 &&
      are_all(system.cached_pages({0, plan.size}), {0, plan.size})) {
    if (system.has_the_file()) {
      plan.progress->given_up.store(all_is_cached, std::memory_order_relaxed);
    }
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
      if (range.offset < range.end && !are_all(system.cached_pages(range), range) && !system.will_need(range)) {
        return;
      }
      if (++count == most_ranges || left == 0) {
        return;
      }
    }
  }
}

}  // namespace dovetail::prefetching
