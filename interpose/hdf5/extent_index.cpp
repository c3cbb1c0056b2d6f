#include "extent_index.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace dovetail::hdf5 {

ExtentIndex::Segments::iterator ExtentIndex::first_overlapping(std::uint64_t offset) {
  auto found = segments_.upper_bound(offset);
  if (found != segments_.begin() && std::prev(found)->second.end > offset) {
    --found;
  }
  return found;
}

void ExtentIndex::erase(std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t end = length > UINT64_MAX - offset ? UINT64_MAX : offset + length;
  auto at = first_overlapping(offset);
  while (at != segments_.end() && at->first < end) {
    const std::uint64_t begin = at->first;
    const Segment whole = at->second;
    at = segments_.erase(at);
    if (begin < offset) {
      segments_.emplace_hint(at, begin, Segment{offset, whole.data, whole.owner});
    }
    if (whole.end > end) {
      segments_.emplace_hint(at, end, Segment{whole.end, whole.data + (end - begin), whole.owner});
      return;
    }
  }
}

void ExtentIndex::insert(std::uint64_t offset, std::size_t length, const std::byte* data, const void* owner) {
  erase(offset, length);
  segments_.emplace(offset, Segment{offset + length, data, owner});
}

void ExtentIndex::remove(std::uint64_t offset, std::size_t length, const void* owner) noexcept {
  auto at = first_overlapping(offset);
  while (at != segments_.end() && at->first < offset + length) {
    at = at->second.owner == owner ? segments_.erase(at) : std::next(at);
  }
}

void ExtentIndex::copy(Range range, std::byte* target, std::vector<Range>& gaps) const {
  std::uint64_t at = range.offset;
  const std::uint64_t end = range.offset + range.length;
  auto next = const_cast<ExtentIndex*>(this)->first_overlapping(at);
  while (at < end) {
    if (next == segments_.end() || next->first >= end) {
      gaps.push_back({at, static_cast<std::size_t>(end - at)});
      return;
    }
    if (next->first > at) {
      gaps.push_back({at, static_cast<std::size_t>(next->first - at)});
      at = next->first;
    }
    const std::uint64_t until = std::min(end, next->second.end);
    std::memcpy(target + (at - range.offset), next->second.data + (at - next->first),
                static_cast<std::size_t>(until - at));
    at = until;
    ++next;
  }
}

}  // namespace dovetail::hdf5
