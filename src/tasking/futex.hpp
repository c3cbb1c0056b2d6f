// Sleeping in the kernel until a word changes or a deadline passes.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"

namespace dovetail::tasking {

/// Sleeps while `word` is `expected`. May return early. time_point::max(): no deadline.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected, base::TimePoint deadline) noexcept;
void futex_wake(std::atomic<std::uint32_t>& word) noexcept;

}  // namespace dovetail::tasking
