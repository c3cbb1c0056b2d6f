/// @file
/// What a run leaves: a file with all blocks, a checksum, and what rank 0 says at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "options.hpp"
#include "simulation.hpp"

namespace refinement {

struct Result {
  int ranks = 0;
  int workers = 0;                            ///< Of a rank.
  std::uint64_t blocks = 0;                   ///< At the end.
  std::uint64_t updates = 0;                  ///< Of blocks, in a run.
  std::uint64_t moved = 0;                    ///< Pieces of blocks, in a run, from rank to rank.
  std::vector<double> seconds = {};           ///< Of each timed run.
  std::vector<double> refining_seconds = {};  ///< Of these, the refinement, in the slowest rank.
  std::uint64_t checksum = 0;                 ///< Of the blocks at the end and all sums.
};

/// The checksum of an outcome. By all ranks. @returns On rank 0; elsewhere 0.
std::uint64_t checksum_of(const Options& options, Outcome& outcome, int rank, int ranks);

/// Writes this rank's blocks to their place in the file, and rank 0 the sums, which come first. For each block: its code, then its values before
/// stage `stages`. All numbers are as they are in memory. @throws std::system_error naming the file and the offset
void write_output(const Options& options, Outcome& outcome, int rank, int ranks);

/// Prints it. With `--json`: one object, as bench/run.py reads it, with `ns` for an update of a block.
void print(const Options& options, const Result& result);

}  // namespace refinement
