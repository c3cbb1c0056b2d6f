/// @file
/// Rows as messages of MPI: a task for each piece that is sent, and for each that is received.
#pragma once

#include <memory>

#include "messages/bound_messages.hpp"
#include "part.hpp"
#include "rank_solver.hpp"
#include "ranks.hpp"

namespace heat {

/// A solver whose messages are those of `messages`. `ranks` and `runtime` live longer. @throws BadInput if MPI has too few tags for the part's columns.
std::unique_ptr<RankSolver> two_sided(dovetail::Runtime& runtime, const Ranks& ranks, const Part& part,
                                      std::unique_ptr<messages::BoundMessages> messages);

}  // namespace heat
