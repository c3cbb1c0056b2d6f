/// @file
/// The main function that the examples with ranks have in common.
#pragma once

#include <functional>
#include <string>

#include "options.hpp"

namespace rank_program {

/// What each program does by itself, in this order.
struct Steps {
  std::function<void()> parse;  ///< Reads the command line into the options. @throws BadInput
  std::function<int()> level;   ///< Of threads, as MPI names it: what the variant needs.
  /// Does what the options ask for. @returns The exit status, which is that of all ranks. @throws BadInput on all ranks alike, or what a task has
  /// thrown.
  std::function<int(int rank, int ranks)> run;
  std::function<void()> end_all;  ///< Ends all ranks with status 1, since `run` has failed in this one.
};

/// Does the steps with MPI around them. `name` begins what is told of failures; the first step fills `options`. @returns The exit status: 2 for bad
/// input, which rank 0 has told.
int main_of(const std::string& name, const Options& options, const Steps& steps, int count, char** arguments);

}  // namespace rank_program
