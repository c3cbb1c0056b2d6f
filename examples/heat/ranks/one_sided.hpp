/// @file
/// Rows as writes into the memory of other ranks. There are no tasks for messages: an update begins when the rows that it reads have been written
/// here, and writes its own row there.
#pragma once

#include <memory>

#include "part.hpp"
#include "rank_solver.hpp"
#include "ranks.hpp"

namespace heat {

/// A solver of this kind. `ranks` and `runtime` live longer. By all ranks at the same time. @throws BadInput if there are more columns of blocks
/// than a segment has notifications for.
std::unique_ptr<RankSolver> one_sided(dovetail::Runtime& runtime, const Ranks& ranks, const Part& part);

}  // namespace heat
