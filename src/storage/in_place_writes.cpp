#include "storage/in_place_writes.hpp"

#include <sys/resource.h>

#include "base/clock.hpp"

namespace dovetail::storage {
namespace {

constexpr std::uint64_t share = 64;
// A trial that waits for longer must not keep others from being made.
constexpr std::uint64_t microseconds_of_trial = 1'000'000;

bool is_before(std::uint64_t moment, std::uint64_t other) noexcept {
  return static_cast<std::int64_t>(moment - other) < 0;
}

// Never `trusted` or `doubted`.
std::uint64_t as_state(std::uint64_t moment) noexcept { return moment | 2; }

std::uint64_t end_of_trial(std::uint64_t begin) noexcept {
  return as_state(begin + microseconds_of_trial * base::ticks_per_microsecond());
}

// How often this thread gave up its core because it had to wait. That another thread took the core is not counted.
std::int64_t waits_of_this_thread() noexcept {
  rusage usage{};
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nvcsw : 0;
}

}  // namespace

// A copy at 1 GB/s, and for as long as a core may be kept from others without a question.
std::uint64_t InPlaceWrites::longest(std::uint64_t bytes) noexcept {
  return (50 + bytes / 1000) * base::ticks_per_microsecond();
}

InPlaceWrites::Attempt InPlaceWrites::begin_doubted(std::uint64_t now) noexcept {
  std::uint64_t state = state_.load(std::memory_order_relaxed);
  if (state != trusted && state != doubted &&
      (is_before(now, state) || !state_.compare_exchange_strong(state, end_of_trial(now), std::memory_order_relaxed))) {
    return {false, now, -1};
  }
  return {true, now, waits_of_this_thread()};
}

void InPlaceWrites::judge(const Attempt& attempt, std::uint64_t now, std::uint64_t bytes) noexcept {
  const std::uint64_t took = now - attempt.begin;
  const bool counted = attempt.waits >= 0;
  std::uint64_t state = state_.load(std::memory_order_relaxed);
  const std::uint64_t own_trial = end_of_trial(attempt.begin);
  if (counted && took > longest(bytes) && waits_of_this_thread() != attempt.waits) {
    const std::uint64_t next = as_state(now + share * took);
    while ((state <= doubted || state == own_trial || is_before(state, next)) &&
           !state_.compare_exchange_weak(state, next, std::memory_order_relaxed)) {
    }
  } else if (counted && (state == doubted || state == own_trial)) {
    state_.compare_exchange_strong(state, trusted, std::memory_order_relaxed);
  } else if (!counted && state == trusted) {
    state_.compare_exchange_strong(state, doubted, std::memory_order_relaxed);
  }
}

}  // namespace dovetail::storage
