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
  arrange(plan.gap, plan.window / 2);
}

void Advice::arrange(std::uint64_t gap, std::uint64_t room) noexcept {
  std::sort(ranges_.data(), ranges_.data() + count_,
            [](const Range& one, const Range& other) { return one.offset < other.offset; });
  std::uint32_t kept = 0;
  for (std::uint32_t i = 1; i < count_; ++i) {
    Range& last = ranges_[kept];
    const std::uint64_t between = ranges_[i].offset > last.end ? ranges_[i].offset - last.end : 0;
    if (between == 0 || (between <= gap && between <= room)) {
      room -= between;
      last.end = std::max(last.end, ranges_[i].end);
    } else {
      ranges_[++kept] = ranges_[i];
    }
  }
  count_ = count_ == 0 ? 0 : kept + 1;
}

}  // namespace dovetail::prefetching
