/// @file
/// The command line.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace streaming {

/// The user asked for something that cannot be done; the message says what. Exit status 2.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The command line, checked.
struct Options {
  std::string variant = "two-sided";  ///< One of `variants`.
  int stages = 0;                     ///< Of the chain. 0: one for each rank.
  int chunks = 250;                   ///< That go through the chain, one after the other.
  int blocks = 128;                   ///< Of a chunk.
  std::size_t block_bytes = 4096;     ///< A multiple of the size of an element.
  int work = 1;                       ///< How often a stage applies its function.
  int workers = 0;  ///< Of a rank, in the variants that have several. 0: the cores of the machine, shared by the ranks.
  int poll_microseconds = 50;  ///< Between two looks of the variant `multiple`.
  int repeat = 1;              ///< Timed runs.
  int warmup = 0;              ///< Runs before them.
  std::string output;          ///< File for what leaves the last stage; empty: none.
  bool verify = false;         ///< Compute what must leave the last stage, and compare.
  bool json = false;           ///< Report as JSON.
  std::string help;            ///< The text that was asked for; empty: none was.
};

/// Reads the command line. @throws BadInput naming the option.
Options parse_options(int count, const char* const* arguments);

}  // namespace streaming
