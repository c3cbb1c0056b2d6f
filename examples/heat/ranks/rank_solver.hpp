/// @file
/// What a variant with tasks does.
#pragma once

#include <cstdint>

#include "coauthors.hpp"
#include "solver.hpp"
#include "sweeps.hpp"

namespace heat {

/// Spawns the sweeps of one rank with their messages. Used by the thread that spawns, outside of tasks; lives until these have completed.
class RankSolver {
 public:
  virtual ~RankSolver() = default;
  /// For checkpoints, the ranks' words to each other.
  virtual Coauthors& coauthors() = 0;
  /// Before the first step. `sweeps` lives as long as the tasks.
  virtual void begin(Sweeps& sweeps, const Plan& plan) = 0;
  /// Spawns one step.
  virtual void spawn(std::uint64_t step) = 0;
};

}  // namespace heat
