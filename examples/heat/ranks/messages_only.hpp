/// @file
/// MPI and no tasks: one thread a rank goes through its columns of blocks, and the messages of the others are under way meanwhile.
#pragma once

#include "part.hpp"
#include "plain_checkpoints.hpp"
#include "ranks.hpp"
#include "solver.hpp"
#include "sweeps.hpp"

namespace heat {

/// Computes, and writes checkpoints and the final field. Collective. @throws dovetail::IoError
void solve_by_messages_only(const Ranks& ranks, Sweeps& sweeps, PlainCheckpoints& checkpoints, const Part& part,
                            const Plan& plan);

}  // namespace heat
