#include "device/in_place_writes.hpp"

#include <sys/resource.h>

#include "base/clock.hpp"

namespace dovetail::device {
namespace {

constexpr std::uint64_t times_its_length = 64;

// The lowest bits of a state that is not `trusted`.
constexpr std::uint64_t kinds = 3;
constexpr std::uint64_t doubt = 1;
constexpr std::uint64_t refusal = 2;

std::uint64_t until(std::uint64_t moment, std::uint64_t kind) noexcept { return (moment & ~kinds) | kind; }

bool is_before(std::uint64_t moment, std::uint64_t other) noexcept {
  return static_cast<std::int64_t>(moment - other) < 0;
}

// How often this thread gave up its core because it had to wait. That another thread took the core is not counted.
std::int64_t waits_of_this_thread() noexcept {
  rusage usage{};
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nvcsw : 0;
}

}  // namespace

// A copy at 1 GB/s, and some times as long as it would take to hand the write over. Interrupts and virtual machines take less.
std::uint64_t InPlaceWrites::longest(std::uint64_t bytes) noexcept {
  return (200 + bytes / 1000) * base::ticks_per_microsecond();
}

InPlaceWrites::Attempt InPlaceWrites::begin_doubted(std::uint64_t now) noexcept {
  std::uint64_t state = state_.load(std::memory_order_relaxed);
  const bool over = !is_before(now, state);
  if ((state & kinds) == refusal && !over) {
    return {false, now, -1};
  }
  if (state == trusted || over) {
    const bool refused = (state & kinds) == refusal;
    const std::uint64_t next =
        refused ? until(now + span_.load(std::memory_order_relaxed), doubt) : std::uint64_t{trusted};
    state_.compare_exchange_strong(state, next, std::memory_order_relaxed);
    if (!refused) {
      return {true, now, -1};
    }
  }
  return {true, now, waits_of_this_thread()};
}

// It took long.
void InPlaceWrites::judge(const Attempt& attempt, std::uint64_t now) noexcept {
  const std::uint64_t span = times_its_length * (now - attempt.begin);
  std::uint64_t state = state_.load(std::memory_order_relaxed);
  if (attempt.waits < 0) {
    if (state == trusted) {
      state_.compare_exchange_strong(state, until(now + span, doubt), std::memory_order_relaxed);
    }
    return;
  }
  if (waits_of_this_thread() == attempt.waits) {
    return;
  }
  span_.store(span, std::memory_order_relaxed);
  const std::uint64_t next = until(now + span, refusal);
  while (((state & kinds) != refusal || is_before(state, next)) &&
         !state_.compare_exchange_weak(state, next, std::memory_order_relaxed)) {
  }
}

}  // namespace dovetail::device
