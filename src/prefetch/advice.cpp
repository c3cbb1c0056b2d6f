#include "prefetch/advice.hpp"

#include <algorithm>
#include <numeric>

#include "prefetch/follower.hpp"

namespace dovetail::prefetching {

void Advice::take(const FilePlan& plan) noexcept {
  count_ = 0;
  if (!wants_advice(plan)) {
    return;
  }
  Progress& progress = *plan.progress;
  std::uint32_t issued = progress.issued.load(std::memory_order_relaxed);
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  do {
    from = std::max(issued, progress.cursor.load(std::memory_order_relaxed));
    if (from >= plan.count) {
      count_ = 0;
      return;
    }
    // At least one, however small the window is.
    std::uint64_t bytes = 0;
    to = from;
    while (to < plan.count && to - from < most && (to == from || bytes + plan.extents[to].bytes <= plan.window / 2)) {
      bytes += plan.extents[to++].bytes;
    }
    if (arrange_all(plan, from, to) > plan.window) {
      // Rather less at a time than single requests because there is no room for the gaps: the most that the window has room for.
      std::uint32_t fits = from + 1;
      while (to - fits > 1) {
        const std::uint32_t middle = fits + (to - fits) / 2;
        (arrange_all(plan, from, middle) <= plan.window ? fits : to) = middle;
      }
      to = fits;
      arrange_all(plan, from, to);
    }
  } while (!progress.issued.compare_exchange_weak(issued, to, std::memory_order_relaxed));
  from_ = from;
}

void Advice::give_back(const FilePlan& plan) const noexcept {
  // What others have taken behind it meanwhile is asked for twice, if it is not cached by then.
  std::atomic<std::uint32_t>& issued = plan.progress->issued;
  std::uint32_t seen = issued.load(std::memory_order_relaxed);
  while (seen > from_ && !issued.compare_exchange_weak(seen, from_, std::memory_order_relaxed)) {
  }
}

std::uint64_t Advice::arrange_all(const FilePlan& plan, std::uint32_t from, std::uint32_t to) noexcept {
  count_ = 0;
  for (std::uint32_t number = from; number < to; ++number) {
    const Extent& extent = plan.extents[number];
    // Others can write into the memory: what is asked for lies in the file in any case.
    const std::uint64_t offset = std::min(extent.offset, plan.size);
    ranges_[count_++] = {offset, offset + std::min(extent.bytes, plan.size - offset)};
  }
  count_ = arrange(ranges_.data(), count_, plan.gap, far_end);
  return std::accumulate(begin(), end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Range& range) { return sum + (range.end - range.offset); });
}

}  // namespace dovetail::prefetching
