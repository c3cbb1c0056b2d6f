/// @file
/// Spawns the whole run as tasks: a wavefront of block updates per step, and checkpoints among them.
#pragma once

#include <cstdint>

#include "checkpoint_writer.hpp"
#include "dovetail/dovetail.hpp"
#include "field.hpp"
#include "meter.hpp"
#include "progress.hpp"

namespace heat {

/// How far to compute.
struct Plan {
  std::uint64_t first_step = 0;        ///< Steps that the field has seen already.
  std::uint64_t last_step = 0;         ///< Steps in all.
  std::uint64_t checkpoint_every = 0;  ///< 0: only the final field.
};

/// Spawns one update per block, each in/out on its block and reading its neighbours': steps overlap in a wavefront.
void spawn_step(dovetail::Runtime& runtime, Field& field, Meter& meter, Progress& progress);

/// Computes, writes checkpoints and the final field, and returns when all is durable. Blocks the calling thread.
/// @throws dovetail::TaskFailed after all tasks have ended.
void solve(dovetail::Runtime& runtime, Field& field, CheckpointWriter& writer, const Plan& plan, Meter& meter,
           Progress& progress);

}  // namespace heat
