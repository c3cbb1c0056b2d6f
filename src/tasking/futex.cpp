#include "tasking/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace dovetail::tasking {

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, base::TimePoint deadline) noexcept {
  timespec until{};
  const bool bounded = deadline != base::TimePoint::max();
  if (bounded) {
    // The steady clock is CLOCK_MONOTONIC, which FUTEX_WAIT_BITSET takes as an absolute time.
    const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.time_since_epoch()).count();
    until.tv_sec = static_cast<time_t>(since / 1'000'000'000);
    until.tv_nsec = static_cast<long>(since % 1'000'000'000);
  }
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, bounded ? &until : nullptr, nullptr,
          FUTEX_BITSET_MATCH_ANY);
}

void futex_wake(std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace dovetail::tasking
