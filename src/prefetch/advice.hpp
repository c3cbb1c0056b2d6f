// What is to be read next, in requests that a device likes.
#pragma once

#include <array>
#include <cstdint>

#include "prefetch/plan.hpp"

namespace dovetail::prefetching {

/// Some extents, taken out of the plan together.
class Advice {
 public:
  struct Range {
    std::uint64_t offset;
    std::uint64_t end;
  };
  static constexpr std::uint32_t most = 512;

  /// Takes what comes next in the plan, as much as half of the window has room for, and nobody else will take it. Sorted, with gaps that are
  /// too small to be left out; these have at most another half of the window. Empty: nothing is due.
  void take(const FilePlan& plan) noexcept;
  bool empty() const noexcept { return count_ == 0; }
  const Range* begin() const noexcept { return ranges_.data(); }
  const Range* end() const noexcept { return ranges_.data() + count_; }

 private:
  // `room`: bytes that all gaps may have together.
  void arrange(std::uint64_t gap, std::uint64_t room) noexcept;

  std::array<Range, most> ranges_;
  std::uint32_t count_ = 0;
};

}  // namespace dovetail::prefetching
