#include "options.hpp"

#include <CLI/CLI.hpp>

namespace refinement {
namespace {

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
  // So that a program that starts it may add to what its user said.
  line.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  const int most = 1 << 24;
  line.add_option(
          "--variant", options.variant,
          "messages-only: MPI alone, a thread for each rank; threads: the same in `workers` threads, which block;\n"
          "multiple: tasks, each of which calls MPI by itself; two-sided: tasks with <dovetail/mpi.hpp>;\n"
          "one-sided: tasks with <dovetail/rma.hpp>")
      ->check(CLI::IsMember({"messages-only", "threads", "multiple", "two-sided", "one-sided"}))
      ->capture_default_str();
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
      ->check(CLI::Range(0, most))
      ->capture_default_str();
  line.add_option("--stages", options.stages, "computed before each move, and after the last one")
      ->check(CLI::Range(1, most))
      ->capture_default_str();
  line.add_option("--workers", options.workers, "threads of a rank (default: cores / ranks)")
      ->check(CLI::Range(1, 4096));
  line.add_option("--poll-microseconds", options.poll_microseconds, "multiple: time between two looks; 0: all the time")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  line.add_option("--repeat", options.repeat, "timed runs")->check(CLI::Range(1, most))->capture_default_str();
  line.add_option("--warmup", options.warmup, "runs before them")->check(CLI::Range(0, most))->capture_default_str();
  line.add_option("--output", options.output, "file for the blocks and their sums");
  line.add_flag("--json", options.json, "print one JSON object");
  try {
    line.parse(count, arguments);
  } catch (const CLI::CallForHelp&) {
    options.help = line.help();
    return options;
  } catch (const CLI::ParseError& error) {
    throw BadInput(std::string(error.what()) + " (--help lists the options)");
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
