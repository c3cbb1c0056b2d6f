#include "options.hpp"

#include <CLI/CLI.hpp>
#include <string>

namespace refinement {
namespace {

using rank_program::largest_count;

// 32 768 blocks; a run begins with as many.
constexpr int most_coarsest = 5;

}  // namespace

Options parse_options(int count, const char* const* arguments) {
  Options options;
  CLI::App line(
      "Refinement: a cube of cells in blocks, each cell again and again the mean of itself and its neighbours. A "
      "sphere "
      "moves through it;\nnear its surface the blocks are finer.\n"
      "Started by mpiexec. Exit status: 0 done, 1 failed, 2 bad input.",
      "refinement");
  rank_program::add_first_options(line, options);
  line.add_option("--edge", options.shape.edge, "cells along an edge of a block, an even number")
      ->check(CLI::Range(std::size_t{2}, Shape::longest_edge))
      ->capture_default_str();
  line.add_option("--variables", options.shape.variables, "values of a cell")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  line.add_option("--coarsest", options.coarsest, "level of the coarsest blocks: 8^level of them cover the domain")
      ->check(CLI::Range(0, most_coarsest))
      ->capture_default_str();
  line.add_option("--finest", options.finest, "level of the finest blocks")
      ->check(CLI::Range(0, Cube::deepest))
      ->capture_default_str();
  line.add_option("--radius", options.radius, "of the sphere, in percent of the edge of the domain")
      ->check(CLI::Range(0, 200))
      ->capture_default_str();
  line.add_option("--refinements", options.refinements, "how often the sphere moves and the mesh follows")
      ->check(CLI::Range(0, largest_count))
      ->capture_default_str();
  line.add_option("--stages", options.stages, "computed before each move, and after the last one")
      ->check(CLI::Range(1, largest_count))
      ->capture_default_str();
  rank_program::add_last_options(line, options, "the blocks and their sums");
  if (!rank_program::parse(line, options, count, arguments)) {
    return options;
  }
  if (options.shape.edge % 2 != 0) {
    throw BadInput("--edge is " + std::to_string(options.shape.edge) + ": it must be even, since blocks are halved");
  }
  if (options.finest < options.coarsest) {
    throw BadInput("--finest is " + std::to_string(options.finest) + ": it must not be below --coarsest, which is " +
                   std::to_string(options.coarsest));
  }
  return options;
}

}  // namespace refinement
