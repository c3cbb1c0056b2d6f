/// @file
/// The command line.
#pragma once

#include "field.hpp"
#include "rank_program/options.hpp"

namespace refinement {

using rank_program::BadInput;

/// The command line, checked.
struct Options : rank_program::Options {
  // The paper polls as often for this problem.
  Options() : rank_program::Options{.poll_microseconds = 150} {}

  Shape shape;          ///< Of each block.
  int coarsest = 2;     ///< Lowest level of blocks.
  int finest = 4;       ///< Highest level.
  int radius = 20;      ///< Of the object, in percent of the edge of the domain.
  int refinements = 5;  ///< How often the object moves, and the mesh follows it.
  int stages = 20;      ///< Before each move, and after the last one.
};

/// Reads the command line. @throws BadInput naming the option.
Options parse_options(int count, const char* const* arguments);

}  // namespace refinement
