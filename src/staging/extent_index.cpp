#include "staging/extent_index.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace dovetail::staging {

void ExtentIndex::insert(std::uint64_t offset, std::size_t length, const std::byte* data, const void* owner) {
  extents_.insert(offset, length, Memory{data, owner});
}

void ExtentIndex::remove(std::uint64_t offset, std::size_t length, const void* owner) noexcept {
  extents_.erase_if(offset, length, [owner](const Memory& memory) { return memory.owner == owner; });
}

void ExtentIndex::erase(std::uint64_t offset, std::uint64_t length) { extents_.erase(offset, length); }

void ExtentIndex::copy(ByteRange range, std::byte* target, std::vector<ByteRange>& gaps) const {
  extents_.visit(
      range,
      [&](ByteRange part, const Memory& memory) {
        std::memcpy(target + (part.offset - range.offset), memory.data, part.length);
      },
      [&](ByteRange part) { gaps.push_back(part); });
}

void RangeSet::add(std::uint64_t offset, std::uint64_t length) {
  std::uint64_t end = offset + length;
  auto next = ends_.upper_bound(offset);
  if (next != ends_.begin() && std::prev(next)->second >= offset) {
    --next;
    offset = next->first;
  }
  while (next != ends_.end() && next->first <= end) {
    end = std::max(end, next->second);
    next = ends_.erase(next);
  }
  ends_.emplace_hint(next, offset, end);
}

void RangeSet::remove(std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t end = offset + length;
  auto next = ends_.lower_bound(offset);
  if (next != ends_.begin() && std::prev(next)->second > offset) {
    --next;
    const std::uint64_t behind = next->second;
    next->second = offset;
    ++next;
    if (behind > end) {
      ends_.emplace_hint(next, end, behind);
      return;
    }
  }
  while (next != ends_.end() && next->first < end) {
    const std::uint64_t behind = next->second;
    next = ends_.erase(next);
    if (behind > end) {
      ends_.emplace_hint(next, end, behind);
      return;
    }
  }
}

bool RangeSet::overlaps(ByteRange range) const {
  const auto behind = ends_.lower_bound(range.end());
  return behind != ends_.begin() && std::prev(behind)->second > range.offset;
}

}  // namespace dovetail::staging
