// What a staged file consists of: the newest bytes in the log, and below them the final file.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/byte_range.hpp"
#include "staging/extent_map.hpp"
#include "staging/log_place.hpp"

namespace dovetail::staging {

/// Not thread-safe.
class StagedContents {
 public:
  using Index = ExtentMap<LogPlace>;

  /// `size`: of the final file.
  explicit StagedContents(std::uint64_t size) : size_(size) {}

  /// @throws std::bad_alloc, and has changed nothing
  void write(base::ByteRange range, const LogPlace& place) {
    index_.insert(range.offset, range.length, place);
    size_ = std::max(size_, range.end());
  }
  /// Bytes went into the final file by another way. Nothing is staged.
  void wrote_final(base::ByteRange range) noexcept { size_ = range.length == 0 ? size_ : std::max(size_, range.end()); }
  /// @throws std::bad_alloc, and has changed nothing
  void set_size(std::uint64_t size) {
    index_.erase(size, UINT64_MAX - size);
    cut_ = std::min(cut_, size);
    size_ = size;
  }

  std::uint64_t size() const noexcept { return size_; }
  const Index& index() const noexcept { return index_; }
  /// Bytes of the final file from here on do not count: it was shorter once. They are zero where the index has nothing.
  std::uint64_t final_bytes() const noexcept { return std::min(cut_, draining_cut_); }

  /// What is in the log now will be in the final file, as it is now. Returns up to where the bytes that the final file has stay.
  std::uint64_t begin_drain() noexcept {
    draining_cut_ = std::min(draining_cut_, cut_);
    cut_ = uncut;
    return draining_cut_;
  }
  /// It is. Segments up to this one are needed no more.
  void end_drain(std::uint32_t segment) noexcept {
    draining_cut_ = uncut;
    index_.erase_if(0, UINT64_MAX, [segment](const LogPlace& place) { return place.segment <= segment; });
  }
  /// It is not.
  void give_up_drain() noexcept {
    cut_ = std::min(cut_, draining_cut_);
    draining_cut_ = uncut;
  }

  static constexpr std::uint64_t uncut = UINT64_MAX;

 private:
  Index index_;
  std::uint64_t size_;
  std::uint64_t cut_ = uncut;           // since the drain began, or at all
  std::uint64_t draining_cut_ = uncut;  // before
};

}  // namespace dovetail::staging
