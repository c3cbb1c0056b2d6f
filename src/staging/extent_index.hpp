// Which bytes of a file are still in memory, newest first where several writes cover the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/byte_range.hpp"
#include "staging/extent_map.hpp"

namespace dovetail::staging {

using base::ByteRange;

/// Not thread-safe: the caller locks. Every operation takes logarithmic time, and time for what it touches.
class ExtentIndex {
 public:
  /// The bytes of `[offset, offset + length)` are at `data` from now on. `owner` is what `remove` is told later.
  void insert(std::uint64_t offset, std::size_t length, const std::byte* data, const void* owner);
  /// The bytes that `owner` brought, and that were not overwritten, are in the file by now. All of them are within the
  /// range.
  void remove(std::uint64_t offset, std::size_t length, const void* owner) noexcept;
  /// Forgets all within the range.
  void erase(std::uint64_t offset, std::uint64_t length);
  /// Copies what there is of the range to `target` and appends the gaps between to `gaps`, in order.
  void copy(ByteRange range, std::byte* target, std::vector<ByteRange>& gaps) const;
  bool empty() const noexcept { return extents_.empty(); }

 private:
  // A write ends by itself, and is then removed by its owner: none is joined with another.
  struct Memory {
    const std::byte* data;
    const void* owner;
    Memory behind(std::uint64_t bytes) const noexcept { return {data + bytes, owner}; }
    bool continues(std::uint64_t, const Memory&, std::uint64_t) const noexcept { return false; }
  };
  ExtentMap<Memory> extents_;
};

/// Bytes of a file, neighbours taken together. Not thread-safe.
class RangeSet {
 public:
  void add(std::uint64_t offset, std::uint64_t length);
  void remove(std::uint64_t offset, std::uint64_t length);
  bool overlaps(ByteRange range) const;

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  // by first byte; they do not touch
};

}  // namespace dovetail::staging
