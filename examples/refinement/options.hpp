/// @file
/// The command line.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

#include "field.hpp"

namespace refinement {

/// The user asked for something that cannot be done; the message says what. Exit status 2.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The command line, checked.
struct Options {
  std::string variant = "two-sided";
  Shape shape;          ///< Of each block.
  int coarsest = 2;     ///< Lowest level of blocks.
  int finest = 4;       ///< Highest level.
  int radius = 20;      ///< Of the object, in percent of the edge of the domain.
  int refinements = 5;  ///< How often the object moves, and the mesh follows it.
  int stages = 20;      ///< Before each move, and after the last one.
  int workers = 0;  ///< Of a rank, in the variants that have several. 0: the cores of the machine, shared by the ranks.
  int poll_microseconds = 150;  ///< Between two looks of the variant `multiple`.
  int repeat = 1;               ///< Timed runs.
  int warmup = 0;               ///< Runs before them.
  std::string output;           ///< File for the blocks at the end; empty: none.
  bool json = false;            ///< Report as JSON.
  std::string help;             ///< The text that was asked for; empty: none was.
};

/// Reads the command line. @throws BadInput naming the option.
Options parse_options(int count, const char* const* arguments);

}  // namespace refinement
