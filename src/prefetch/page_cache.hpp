// Whether bytes of a file are in the page cache.
#pragma once

#include <cstdint>

#include "prefetch/ranges.hpp"

namespace dovetail::prefetching {

/// Whether all pages of a range that is not empty are in memory. False also where the kernel cannot say (before Linux 6.5). `call`: makes a system
/// call, given its number and four arguments, and returns 0 if it succeeds: a library in foreign programs must not touch errno.
template <class Call>
bool is_cached(int descriptor, const Range& range, const Call& call) noexcept {
  constexpr long cachestat = 451;
  constexpr std::uint64_t page = 4096;
  struct {
    std::uint64_t offset;
    std::uint64_t length;
  } asked{range.offset, range.end - range.offset};
  struct {
    std::uint64_t cached, dirty, written_back, evicted, recently_evicted;
  } pages{};
  return call(cachestat, descriptor, &asked, &pages, 0) == 0 &&
         pages.cached >= (range.end + page - 1) / page - range.offset / page;
}

}  // namespace dovetail::prefetching
