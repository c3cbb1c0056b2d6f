#include "prefetch/advice.hpp"

#include <algorithm>

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
      return;
    }
    // At least one, however small the window is.
    std::uint64_t bytes = 0;
    to = from;
    while (to < plan.count && to - from < most && (to == from || bytes + plan.extents[to].bytes <= plan.window / 2)) {
      bytes += plan.extents[to++].bytes;
    }
  } while (!progress.issued.compare_exchange_weak(issued, to, std::memory_order_relaxed));
  for (std::uint32_t number = from; number < to; ++number) {
    const Extent& extent = plan.extents[number];
    ranges_[count_++] = {extent.offset, extent.end()};
  }
  count_ = arrange(ranges_.data(), count_, plan.gap, plan.window / 2);
}

}  // namespace dovetail::prefetching
