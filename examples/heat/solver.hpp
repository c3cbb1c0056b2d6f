/// @file
/// Spawns the whole run as tasks: a wavefront of block updates per step, and checkpoints among them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

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

/// What the update of a block reads and writes of its field.
std::vector<dovetail::Access> update_accesses(const Field& field, const Block& block);

/// Spawns one update per block, each in/out on its block and reading its neighbours': steps overlap in a wavefront.
void spawn_step(dovetail::Runtime& runtime, Field& field, Meter& meter, Progress& progress);

/// Spawns the steps by `spawn`, which gets the number of each, and checkpoints and the final field among them; returns when all is durable.
/// Blocks the calling thread. @throws dovetail::TaskFailed at once: other tasks may still be running.
void run_steps(dovetail::Runtime& runtime, const std::function<void(std::uint64_t)>& spawn, CheckpointWriter& writer,
               const Plan& plan);

/// Computes, writes checkpoints and the final field, and returns when all is durable. Blocks the calling thread.
/// @throws dovetail::TaskFailed after all tasks have ended.
void solve(dovetail::Runtime& runtime, Field& field, CheckpointWriter& writer, const Plan& plan, Meter& meter,
           Progress& progress);

}  // namespace heat
