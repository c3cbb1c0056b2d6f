// Part of a file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dovetail::base {

/// Consecutive bytes. An empty range overlaps nothing.
struct ByteRange {
  std::uint64_t offset = 0;
  std::size_t length = 0;

  std::uint64_t end() const noexcept { return offset + length; }
  bool overlaps(const ByteRange& other) const noexcept { return offset < other.end() && other.offset < end(); }
  bool operator==(const ByteRange&) const = default;
};

}  // namespace dovetail::base
