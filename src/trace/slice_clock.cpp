#include "trace/slice_clock.hpp"

#include <time.h>

namespace dovetail::trace {

void SliceClock::look(std::uint64_t ticks) noexcept {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  processor_ = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
  looked_at_ = ticks;
}

void SliceClock::begin(std::uint64_t task, std::uint64_t ticks) noexcept {
  if (depth_ == most) {
    return;
  }
  // An older reading gives the slice more than it used: what the thread did in between.
  if (looked_at_ == 0 || ticks - looked_at_ > long_slice_ticks) {
    look(ticks);
  }
  open_[depth_++] = {task, ticks, processor_};
}

std::uint64_t SliceClock::end(std::uint64_t task, std::uint64_t ticks) noexcept {
  std::size_t found = depth_;
  while (found > 0 && open_[found - 1].task != task) {
    --found;
  }
  if (found == 0) {
    return 0;
  }
  depth_ = found - 1;  // what is left inside of it ended with it
  const Open& slice = open_[depth_];
  if (ticks - slice.ticks <= long_slice_ticks) {
    return 0;
  }
  look(ticks);
  return processor_ - slice.processor + 1;
}

}  // namespace dovetail::trace
