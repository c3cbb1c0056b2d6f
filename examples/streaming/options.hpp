/// @file
/// The command line.
#pragma once

#include <cstddef>

#include "rank_program/options.hpp"

namespace streaming {

using rank_program::BadInput;

/// The command line, checked.
struct Options : rank_program::Options {
  // The paper polls as often for this problem.
  Options() : rank_program::Options{.poll_microseconds = 50} {}

  int stages = 0;                  ///< Of the chain. 0: one for each rank.
  int chunks = 250;                ///< That go through the chain, one after the other.
  int blocks = 128;                ///< Of a chunk.
  std::size_t block_bytes = 4096;  ///< A multiple of the size of an element.
  int work = 1;                    ///< How often a stage applies its function.
  bool verify = false;             ///< Compute what must leave the last stage, and compare.
};

/// Reads the command line. @throws BadInput naming the option.
Options parse_options(int count, const char* const* arguments);

}  // namespace streaming
