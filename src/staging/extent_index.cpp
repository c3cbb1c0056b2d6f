#include "staging/extent_index.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace dovetail::staging {

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
  if (at != segments_.end() && at->first < offset && at->second.end > end) {
    // First, since it is the only thing that can fail.
    segments_.emplace_hint(std::next(at), end,
                           Segment{at->second.end, at->second.data + (end - at->first), at->second.owner});
  }
  if (at != segments_.end() && at->first < offset) {
    at->second.end = offset;
    ++at;
  }
  while (at != segments_.end() && at->second.end <= end) {
    at = segments_.erase(at);
  }
  if (at != segments_.end() && at->first < end) {
    auto rest = segments_.extract(at);
    rest.mapped().data += end - rest.key();
    rest.key() = end;
    segments_.insert(std::move(rest));
  }
}

// All or nothing, as the caller's write.
void ExtentIndex::insert(std::uint64_t offset, std::size_t length, const std::byte* data, const void* owner) {
  Segments made;
  made.emplace(offset, Segment{offset + length, data, owner});
  erase(offset, length);
  segments_.insert(made.extract(made.begin()));
}

void ExtentIndex::remove(std::uint64_t offset, std::size_t length, const void* owner) noexcept {
  auto at = first_overlapping(offset);
  while (at != segments_.end() && at->first < offset + length) {
    at = at->second.owner == owner ? segments_.erase(at) : std::next(at);
  }
}

void ExtentIndex::copy(ByteRange range, std::byte* target, std::vector<ByteRange>& gaps) const {
  std::uint64_t at = range.offset;
  const std::uint64_t end = range.end();
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
