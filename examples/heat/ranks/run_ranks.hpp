/// @file
/// One run of the program with ranks, from checked options to its report.
#pragma once

#include "ranks.hpp"
#include "variant.hpp"

namespace heat {

/// Does what the options ask for. By all ranks. @throws RefusedTogether before anything was computed. A rank that fails afterwards says why
/// and ends all of them with status 1.
void run_ranks(const RankOptions& options, const Ranks& ranks);

}  // namespace heat
