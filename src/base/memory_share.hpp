// Bytes of the budgets for memory that may be kept for long: data that was read ahead, data to be compressed.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/memory_budget.hpp"

namespace dovetail::base {

/// A budget, and the part of it for memory that may stay as long as a program likes. The rest is left to others.
struct LastingBudget {
  MemoryBudget& whole;
  MemoryBudget& part;
};

/// Bytes of a lasting budget, given back at the end.
class MemoryShare {
 public:
  MemoryShare() noexcept = default;
  /// None: they do not fit.
  static std::optional<MemoryShare> of(const LastingBudget& budget, std::uint64_t bytes) noexcept {
    if (bytes > budget.part.limit() || !budget.part.try_take(bytes)) {
      return std::nullopt;
    }
    if (!budget.whole.try_take(bytes)) {
      budget.part.give_back(bytes);
      return std::nullopt;
    }
    return MemoryShare(&budget.whole, &budget.part, bytes);
  }
  MemoryShare(MemoryShare&& other) noexcept
      : whole_(other.whole_), part_(other.part_), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryShare& operator=(MemoryShare&& other) noexcept {
    std::swap(whole_, other.whole_);
    std::swap(part_, other.part_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryShare() {
    if (bytes_ != 0) {
      whole_->give_back(bytes_);
      part_->give_back(bytes_);
    }
  }
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// So many of its bytes, or all, on their own from now on.
  MemoryShare split(std::uint64_t bytes) noexcept {
    const std::uint64_t taken = bytes < bytes_ ? bytes : bytes_;
    bytes_ -= taken;
    return MemoryShare(whole_, part_, taken);
  }

 private:
  MemoryShare(MemoryBudget* whole, MemoryBudget* part, std::uint64_t bytes) noexcept
      : whole_(whole), part_(part), bytes_(bytes) {}

  MemoryBudget* whole_ = nullptr;
  MemoryBudget* part_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace dovetail::base
