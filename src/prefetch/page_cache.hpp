// How much of a file is in the page cache.
#pragma once

#include <cerrno>
#include <cstdint>

#include "prefetch/ranges.hpp"

namespace dovetail::prefetching {

inline constexpr long cachestat_number = 451;

constexpr std::uint64_t pages_of(const Range& range) noexcept {
  constexpr std::uint64_t page = 4096;
  return (range.end + page - 1) / page - range.offset / page;
}

/// The pages of a range that is not empty which are in memory; negative where the kernel cannot say (before Linux 6.5). `call`: makes a system
/// call, given its number and four arguments, and returns 0 if it succeeds: a library in foreign programs must not touch errno.
template <class Call>
std::int64_t cached_pages(int descriptor, const Range& range, const Call& call) noexcept {
  struct {
    std::uint64_t offset;
    std::uint64_t length;
  } asked{range.offset, range.end - range.offset};
  struct {
    std::uint64_t cached, dirty, written_back, evicted, recently_evicted;
  } pages{};
  return call(cachestat_number, descriptor, &asked, &pages, 0) == 0 ? static_cast<std::int64_t>(pages.cached) : -1;
}

/// Whether the kernel can say. `call`: as above, of the C library.
template <class Call>
bool kernel_tells_what_is_cached(const Call& call) noexcept {
  constexpr int no_descriptor = -1;
  return call(cachestat_number, no_descriptor, nullptr, nullptr, 0) != 0 && errno == EBADF;
}

/// Whether so many pages, as `cached_pages` says, are all of the range. False also where the kernel cannot say.
constexpr bool are_all(std::int64_t pages, const Range& range) noexcept {
  return pages >= 0 && static_cast<std::uint64_t>(pages) >= pages_of(range);
}

/// Whether all pages of the range are in memory. False also where the kernel cannot say.
template <class Call>
bool is_cached(int descriptor, const Range& range, const Call& call) noexcept {
  return are_all(cached_pages(descriptor, range, call), range);
}

}  // namespace dovetail::prefetching
