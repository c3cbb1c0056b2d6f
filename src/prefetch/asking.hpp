// What advice by plans, rules and patterns has in common: how the system is asked for parts of an open file.
#pragma once

#include <atomic>
#include <cstdint>

#include "prefetch/page_cache.hpp"
#include "prefetch/plan.hpp"

namespace dovetail::prefetching {

// `system` is about the open file, here and in what includes this. It has `cached_pages(range)` as in page_cache.hpp, `has_the_file()`, and `will_need(range)`,
// which returns false where the file must be left.

/// Whether all of the file is cached, so that it is left to the system. For the time before anything is asked for: a look at each part costs more than it brings.
template <class System>
bool is_left_as_cached(const System& system, std::uint64_t size, std::atomic<std::uint32_t>& given_up) noexcept {
  if (!are_all(system.cached_pages({0, size}), {0, size})) {
    return false;
  }
  if (system.has_the_file()) {
    given_up.store(all_is_cached, std::memory_order_relaxed);
  }
  return true;
}

/// @returns false where the file must be left.
template <class System>
bool ask_unless_cached(const System& system, const Range& range) noexcept {
  return are_all(system.cached_pages(range), range) || system.will_need(range);
}

}  // namespace dovetail::prefetching
