// Where the newest bytes of each range of a file are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>

#include <boost/container/map.hpp>

#include "base/byte_range.hpp"

namespace dovetail::staging {

/// Not thread-safe: the caller locks. Every operation takes logarithmic time, and time for what it touches.
///
/// A `Place` says where the bytes of an extent are. It has `Place behind(std::uint64_t bytes) const`: where the byte is that lies so many
/// further on. It has `bool continues(std::uint64_t bytes, const Place& next, std::uint64_t next_bytes) const`: whether this place, of so
/// many bytes, is also that of the `next_bytes` bytes at `next`. Neither throws.
template <class Place>
class ExtentMap {
 public:
  struct Extent {
    std::uint64_t end;
    Place place;
  };
  // Its nodes have no word for their balance: an extent of a log takes 64 bytes, with what the allocator adds. One of std::map takes 80.
  using Extents = boost::container::map<
      std::uint64_t, Extent, std::less<std::uint64_t>, std::allocator<std::pair<const std::uint64_t, Extent>>,
      boost::container::tree_assoc_options<boost::container::tree_type<boost::container::avl_tree>>::type>;

  /// The bytes of `[offset, offset + length)` are at `place` from now on. All or nothing. @throws std::bad_alloc
  void insert(std::uint64_t offset, std::uint64_t length, const Place& place) {
    Extents made;
    made.emplace(offset, Extent{offset + length, place});
    erase(offset, length);
    const auto next = extents_.lower_bound(offset);
    if (next != extents_.begin()) {
      auto& [begin, before] = *std::prev(next);
      if (before.end == offset && before.place.continues(offset - begin, place, length)) {
        before.end += length;
        return;
      }
    }
    extents_.insert(next, made.extract(made.begin()));
  }

  /// Forgets all within the range. All or nothing. @throws std::bad_alloc
  void erase(std::uint64_t offset, std::uint64_t length) {
    const std::uint64_t end = length > UINT64_MAX - offset ? UINT64_MAX : offset + length;
    auto at = first_overlapping(offset);
    if (at != extents_.end() && at->first < offset && at->second.end > end) {
      // First, since it is the only thing that can fail.
      extents_.emplace_hint(std::next(at), end, Extent{at->second.end, at->second.place.behind(end - at->first)});
    }
    if (at != extents_.end() && at->first < offset) {
      at->second.end = offset;
      ++at;
    }
    while (at != extents_.end() && at->second.end <= end) {
      at = extents_.erase(at);
    }
    if (at != extents_.end() && at->first < end) {
      auto rest = extents_.extract(at);
      rest.mapped().place = rest.mapped().place.behind(end - rest.key());
      rest.key() = end;
      extents_.insert(std::move(rest));
    }
  }

  /// Forgets the extents that touch the range and of whose place `condition` holds.
  template <class Condition>
  void erase_if(std::uint64_t offset, std::uint64_t length, const Condition& condition) noexcept {
    const std::uint64_t end = length > UINT64_MAX - offset ? UINT64_MAX : offset + length;
    auto at = first_overlapping(offset);
    while (at != extents_.end() && at->first < end) {
      at = condition(at->second.place) ? extents_.erase(at) : std::next(at);
    }
  }

  /// Calls `found(part, place)` or `gap(part)` for each part of the range, in order.
  template <class Found, class Gap>
  void visit(base::ByteRange range, const Found& found, const Gap& gap) const {
    std::uint64_t at = range.offset;
    const std::uint64_t end = range.end();
    auto next = const_cast<ExtentMap*>(this)->first_overlapping(at);
    while (at < end) {
      if (next == extents_.end() || next->first >= end) {
        gap(base::ByteRange{at, static_cast<std::size_t>(end - at)});
        return;
      }
      if (next->first > at) {
        gap(base::ByteRange{at, static_cast<std::size_t>(next->first - at)});
        at = next->first;
      }
      const std::uint64_t until = std::min(end, next->second.end);
      found(base::ByteRange{at, static_cast<std::size_t>(until - at)}, next->second.place.behind(at - next->first));
      at = until;
      ++next;
    }
  }

  /// By first byte; they do not overlap.
  const Extents& extents() const noexcept { return extents_; }
  bool empty() const noexcept { return extents_.empty(); }

 private:
  typename Extents::iterator first_overlapping(std::uint64_t offset) {
    auto found = extents_.upper_bound(offset);
    if (found != extents_.begin() && std::prev(found)->second.end > offset) {
      --found;
    }
    return found;
  }

  Extents extents_;
};

}  // namespace dovetail::staging
