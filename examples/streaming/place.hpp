/// @file
/// Where a rank stands. The chain has stages, and a stage has lanes: ranks that share its blocks. A rank receives from and sends to one rank of
/// another stage each. So a node may be one rank with several threads, or several ranks, and computes and sends the same.
#pragma once

#include "options.hpp"

namespace streaming {

struct Place {
  /// No rank.
  static constexpr int none = -1;

  int rank = 0;
  int stages = 0;
  int stage = 0;
  int upstream = none;    ///< Rank that it receives from.
  int downstream = none;  ///< Rank that it sends to.
  int first_block = 0;    ///< Of this lane.
  int end_block = 0;      ///< Behind its last one.

  int blocks() const noexcept { return end_block - first_block; }
  bool is_first() const noexcept { return upstream == none; }
  bool is_last() const noexcept { return downstream == none; }
};

/// @throws BadInput if so many ranks cannot be that.
Place place_of(const Options& options, int rank, int ranks);

}  // namespace streaming
