/// @file
/// How much of what all ranks have is of which rank, as the collective functions of MPI want to know it.
#pragma once

#include <cstddef>
#include <vector>

#include "tree.hpp"

namespace refinement {

/// Of each rank. A block counts as `each` elements.
struct Counts {
  Counts(std::size_t blocks, int ranks, int each) {
    const Shares shares(blocks, ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      counts.push_back(static_cast<int>(shares.count(rank)) * each);
      begins.push_back(static_cast<int>(shares.first(rank)) * each);
    }
  }

  std::vector<int> counts;
  std::vector<int> begins;  ///< Where those of the rank begin among all.
};

}  // namespace refinement
