#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <thread>

namespace rank_program {

void add_first_options(CLI::App& line, Options& options) {
  // So that a program that starts it may add to what its user said.
  line.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  line.add_option(
          "--variant", options.variant,
          "messages-only: MPI alone, a thread for each rank; threads: the same in `workers` threads, which block;\n"
          "multiple: tasks, each of which calls MPI by itself; two-sided: tasks with <dovetail/mpi.hpp>;\n"
          "one-sided: tasks with <dovetail/rma.hpp>")
      ->check(CLI::IsMember({"messages-only", "threads", "multiple", "two-sided", "one-sided"}))
      ->capture_default_str();
}

void add_last_options(CLI::App& line, Options& options, const std::string& output) {
  line.add_option("--workers", options.workers, "threads of a rank (default: cores / ranks)")
      ->check(CLI::Range(1, 4096));
  line.add_option("--poll-microseconds", options.poll_microseconds, "multiple: time between two looks; 0: all the time")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  line.add_option("--repeat", options.repeat, "timed runs")->check(CLI::Range(1, largest_count))->capture_default_str();
  line.add_option("--warmup", options.warmup, "runs before them")
      ->check(CLI::Range(0, largest_count))
      ->capture_default_str();
  line.add_option("--output", options.output, "file for " + output);
  line.add_flag("--json", options.json, "print one JSON object");
}

bool parse(CLI::App& line, Options& options, int count, const char* const* arguments) {
  try {
    line.parse(count, arguments);
  } catch (const CLI::CallForHelp&) {
    options.help = line.help();
    return false;
  } catch (const CLI::ParseError& error) {
    throw BadInput(std::string(error.what()) + " (--help lists the options)");
  }
  return true;
}

int workers_of(const Options& options, int ranks) {
  if (options.variant == "messages-only") {
    return 1;
  }
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  return options.workers > 0 ? options.workers : std::max(1, cores / ranks);
}

}  // namespace rank_program
