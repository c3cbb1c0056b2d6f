// What is to be read next, in requests that a device likes.
#pragma once

#include <array>
#include <cstdint>

#include "prefetch/plan.hpp"
#include "prefetch/ranges.hpp"

namespace dovetail::prefetching {

/// Some extents, taken out of the plan together.
class Advice {
 public:
  static constexpr std::uint32_t most = 512;

  /// Takes the next ranges of the plan: as much as half of the window has room for, or, with gaps that are too small to be left out, all of the window.
  /// No other caller gets a range that one caller has taken. Sorted. Empty: nothing is due.
  void take(const FilePlan& plan) noexcept;
  /// What was taken last is to be taken anew, since the file had to be left before all of it was asked for.
  void give_back(const FilePlan& plan) const noexcept;
  bool empty() const noexcept { return count_ == 0; }
  const Range* begin() const noexcept { return ranges_.data(); }
  const Range* end() const noexcept { return ranges_.data() + count_; }

 private:
  // These extents, sorted, with gaps. @returns how many bytes they have altogether.
  std::uint64_t arrange_all(const FilePlan& plan, std::uint32_t from, std::uint32_t to) noexcept;

  std::array<Range, most> ranges_;
  std::uint32_t count_ = 0;
  std::uint32_t from_ = 0;  // the first extent of them, in the order of need
};

}  // namespace dovetail::prefetching
