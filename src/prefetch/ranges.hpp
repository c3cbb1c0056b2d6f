// What is to be read, in requests that a device likes.
#pragma once

#include <algorithm>
#include <cstdint>

namespace dovetail::prefetching {

/// Behind the end of any file.
inline constexpr std::uint64_t far_end = std::uint64_t{1} << 62;

struct Range {
  std::uint64_t offset;
  std::uint64_t end;
};

/// Calls `ask` with one piece of the range after another, of so many bytes at most, until it returns false. @returns whether it never did.
template <class Ask>
bool in_pieces(const Range& range, std::uint64_t bytes, const Ask& ask) noexcept(noexcept(ask(range))) {
  for (std::uint64_t at = range.offset; at < range.end; at += bytes) {
    if (!ask(Range{at, at + std::min(bytes, range.end - at)})) {
      return false;
    }
  }
  return true;
}

/// Sorts ranges of one file and joins those between which another request would take longer than to read the gap. All gaps together have at
/// most `room` bytes. @returns how many are left, from the first on. Allocates nothing.
inline std::uint32_t arrange(Range* ranges, std::uint32_t count, std::uint64_t gap, std::uint64_t room) noexcept {
  std::sort(ranges, ranges + count, [](const Range& one, const Range& other) { return one.offset < other.offset; });
  std::uint32_t kept = 0;
  for (std::uint32_t i = 1; i < count; ++i) {
    Range& last = ranges[kept];
    const std::uint64_t between = ranges[i].offset > last.end ? ranges[i].offset - last.end : 0;
    if (between == 0 || (between <= gap && between <= room)) {
      room -= between;
      last.end = std::max(last.end, ranges[i].end);
    } else {
      ranges[++kept] = ranges[i];
    }
  }
  return count == 0 ? 0 : kept + 1;
}

}  // namespace dovetail::prefetching
