/// @file
/// The tasks of one run, as the dependences of the TASIO paper (docs/papers.md), section 5.1, shape them. All variants follow the same plan.
#pragma once

#include <cstdint>
#include <vector>

#include "settings.hpp"

namespace dovetail::tiom {

/// Which block each transfer uses, and how many rounds each series has.
class Plan {
 public:
  /// `file_size` in bytes holds at least one block. The order of a random pattern follows from `seed` alone.
  Plan(const Point& point, std::uint64_t file_size, std::uint64_t seed);

  /// Offset in bytes of transfer number `operation`. Each pass over the file visits every block once.
  std::uint64_t offset(std::uint64_t operation) const noexcept { return order_[operation % order_.size()] * block_; }
  /// Rounds of all series together: each is `computations_per_round` and up to `transfers_per_round`.
  std::uint64_t rounds() const noexcept { return rounds_; }
  /// Transfers in all.
  std::uint64_t operations() const noexcept { return operations_; }
  /// Blocks of the file.
  std::uint64_t blocks() const noexcept { return order_.size(); }

 private:
  std::vector<std::uint64_t> order_;
  std::uint64_t block_;
  std::uint64_t operations_;
  std::uint64_t rounds_;
};

}  // namespace dovetail::tiom
