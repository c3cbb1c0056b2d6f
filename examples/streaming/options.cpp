#include "options.hpp"

#include <CLI/CLI.hpp>

#include "functions.hpp"

namespace streaming {

Options parse_options(int count, const char* const* arguments) {
  Options options;
  CLI::App line(
      "Streaming: chunks of data go through a chain of stages, each of which applies a function of its own to every "
      "element.\n"
      "Started by mpiexec; stages x lanes = ranks. Exit status: 0 done, 1 failed or wrong, 2 bad input.",
      "streaming");
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
  line.add_option("--stages", options.stages, "stages of the chain (default: one for each rank)")
      ->check(CLI::Range(2, most));
  line.add_option("--chunks", options.chunks, "chunks that go through it")
      ->check(CLI::Range(1, most))
      ->capture_default_str();
  line.add_option("--blocks", options.blocks, "blocks of a chunk")->check(CLI::Range(1, 16384))->capture_default_str();
  line.add_option("--block-bytes", options.block_bytes, "bytes of a block, a multiple of 8")
      ->check(CLI::Range(sizeof(Element), std::size_t{1} << 26U))
      ->capture_default_str();
  line.add_option("--work", options.work, "how often a stage applies its function")
      ->check(CLI::Range(1, most))
      ->capture_default_str();
  line.add_option("--workers", options.workers, "threads of a rank that run tasks (default: cores / ranks)")
      ->check(CLI::Range(1, 4096));
  line.add_option("--poll-microseconds", options.poll_microseconds, "multiple: time between two looks; 0: all the time")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  line.add_option("--repeat", options.repeat, "timed runs")->check(CLI::Range(1, most))->capture_default_str();
  line.add_option("--warmup", options.warmup, "runs before them")->check(CLI::Range(0, most))->capture_default_str();
  line.add_option("--output", options.output, "file for all bytes that leave the last stage");
  line.add_flag("--verify", options.verify, "compute without messages what must come out, and compare");
  line.add_flag("--json", options.json, "print one JSON object");
  try {
    line.parse(count, arguments);
  } catch (const CLI::CallForHelp&) {
    options.help = line.help();
    return options;
  } catch (const CLI::ParseError& error) {
    throw BadInput(std::string(error.what()) + " (--help lists the options)");
  }
  if (options.block_bytes % sizeof(Element) != 0) {
    throw BadInput("--block-bytes is " + std::to_string(options.block_bytes) + ": it must be a multiple of 8");
  }
  return options;
}

}  // namespace streaming
