/// @file
/// What rank 0 says at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "options.hpp"

namespace streaming {

struct Result {
  int ranks = 0;
  int stages = 0;
  int workers = 0;                   ///< Of a rank.
  std::vector<double> seconds = {};  ///< Of each timed run, from when all ranks begin until all have ended.
  std::uint64_t checksum = 0;        ///< Of all that has left the last stage.
  std::string wrong = {};            ///< What is wrong with it, or nothing.
};

/// Prints it. With `--json`: one object, as bench/run.py reads it, with `ns` for a block through the whole chain.
void print(const Options& options, const Result& result);

}  // namespace streaming
