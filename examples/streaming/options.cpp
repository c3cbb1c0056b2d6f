#include "options.hpp"

#include <CLI/CLI.hpp>
#include <string>

#include "functions.hpp"

namespace streaming {

using rank_program::largest_count;

Options parse_options(int count, const char* const* arguments) {
  Options options;
  CLI::App line(
      "Streaming: chunks of data go through a chain of stages, each of which applies a function of its own to every "
      "element.\n"
      "Started by mpiexec; stages x lanes = ranks. Exit status: 0 done, 1 failed or wrong, 2 bad input.",
      "streaming");
  rank_program::add_first_options(line, options);
  line.add_option("--stages", options.stages, "stages of the chain (default: one for each rank)")
      ->check(CLI::Range(2, largest_count));
  line.add_option("--chunks", options.chunks, "chunks that go through it")
      ->check(CLI::Range(1, largest_count))
      ->capture_default_str();
  line.add_option("--blocks", options.blocks, "blocks of a chunk")->check(CLI::Range(1, 16384))->capture_default_str();
  line.add_option("--block-bytes", options.block_bytes, "bytes of a block, a multiple of 8")
      ->check(CLI::Range(sizeof(Element), std::size_t{1} << 26U))
      ->capture_default_str();
  line.add_option("--work", options.work, "how often a stage applies its function")
      ->check(CLI::Range(1, largest_count))
      ->capture_default_str();
  line.add_flag("--verify", options.verify, "compute without messages what must come out, and compare");
  rank_program::add_last_options(line, options, "all bytes that leave the last stage");
  if (!rank_program::parse(line, options, count, arguments)) {
    return options;
  }
  if (options.block_bytes % sizeof(Element) != 0) {
    throw BadInput("--block-bytes is " + std::to_string(options.block_bytes) + ": it must be a multiple of 8");
  }
  return options;
}

}  // namespace streaming
