/// @file
/// One run: stages, and between them the mesh that follows the object. All ranks do the same steps.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "exchange.hpp"
#include "field.hpp"
#include "object.hpp"
#include "options.hpp"
#include "tree.hpp"
#include "variant.hpp"

namespace refinement {

/// What one rank knows at the end of a run.
struct Outcome {
  double seconds = 0;           ///< From when all ranks begin until all have ended.
  double refining_seconds = 0;  ///< Of these, in this rank, what refinement takes, with the wait for other ranks.
  std::uint64_t updates = 0;    ///< Of blocks, by all ranks.
  std::uint64_t moved = 0;      ///< Pieces that other ranks have sent to this one.
  std::vector<double>
      sums;      ///< Rank 0: of each variable over all cells, after each turn of stages, one turn after the other.
  Tree tree{0};  ///< At the end.
  std::unique_ptr<Field> field;  ///< This rank's blocks. Their values are those before stage `stages`.
};

/// Runs it from the beginning. By all ranks at the same time. @throws BadInput if the mesh needs more of MPI than it has, on all ranks alike.
Outcome simulate(const Options& options, Variant& variant, int rank, int ranks);

}  // namespace refinement
