#include "options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <thread>

#include "run.hpp"
#include "test_file.hpp"
#include "text.hpp"

namespace dovetail::tiom {
namespace {

/// The options as they were typed.
struct Texts {
  std::string mode = "mix";
  std::string variant;
  std::string pattern = "rw";
  std::string block = "128K";
  std::string compute = "1";
  std::string series = "2x";
  std::string size = "64M";
  std::string time_limit = "60";
  std::string workers = "0";
  std::string rounds = "4";
  std::string operations = "0";
  std::string seed = "1";
  std::string calibration = "0";
  std::string budget = "0";
  std::string curve_time = "0";
  std::string noise = "1";
  std::string confirm = "2";
  bool direct = false;
  bool buffered = false;
  bool no_plots = false;
  bool no_model = false;
};

constexpr const char* description =
    "Task I/O Meter: how much of computation and storage I/O overlaps, beside plain calls and beside what the hardware "
    "allows.\nA list (4K,64K) or a range of powers of two (4K-8M) of modes, patterns, blocks, compute times or series "
    "needs --sweep.";

void declare(CLI::App& app, Command& command, Texts& texts) {
  Settings& settings = command.settings;
  app.set_help_flag("-h,--help", "print this and end");
  app.get_formatter()->label("TEXT", "");
  app.add_option("--mode", texts.mode, "mix, 1to1, fjio, fjc (mix; in a sweep mix,fjio)")->group("What");
  app.add_option("--variant", texts.variant,
                 "standalone, threads, blocking, nonblocking, openmp; a list takes turns (blocking; in a sweep all but "
                 "openmp)")
      ->group("What");
  app.add_option("--pattern", texts.pattern,
                 "sr, sw, rr, rw: sequential or random, read or write (rw; in a sweep rw,rr)")
      ->group("What");
  app.add_option("--block", texts.block, "bytes of a transfer, 4K to 64M (128K; in a sweep 4K-8M)")->group("What");
  app.add_option("--compute", texts.compute, "milliseconds of a computation (1; in a sweep 1-128)")->group("What");
  app.add_option("--series", texts.series, "chains of tasks; 2x is twice the workers (2x; in a sweep 2x,4x)")
      ->group("What");
  app.add_option("--size", texts.size, "bytes of the file (64M)")->group("What");
  app.add_option("--file", settings.file, "the file to transfer, on the device to measure")->group("What");
  app.add_option("--operations", texts.operations, "transfers in all (as many as the file has blocks)")->group("What");

  app.add_option("--time-limit", texts.time_limit, "seconds after which a run starts no more work (60)")->group("How");
  app.add_option("--rounds", texts.rounds, "turns of each variant (4)")->group("How");
  app.add_flag("--direct", texts.direct, "past the page cache, as in the paper (the default)")->group("How");
  app.add_flag("--buffered", texts.buffered, "through the page cache; writing ends with fdatasync")->group("How");
  app.add_option("--engine", settings.engine, "storage engine: auto, uring, aio, threads (auto)")->group("How");
  app.add_option("--workers", texts.workers, "worker threads (as many as cores)")->group("How");
  app.add_option("--calibration", texts.calibration, "turns of the loop in a millisecond (measured)")->group("How");
  app.add_option("--seed", texts.seed, "of the random order of blocks (1)")->group("How");
  app.add_flag("--verify", settings.verify, "check every byte that is read or written; the times mean nothing then")
      ->group("How");
  app.add_flag("--overwrite", settings.overwrite, "use --file even if it holds something else, which is lost")
      ->group("How");

  app.add_flag("--sweep", command.sweep, "measure every combination")->group("Sweep");
  app.add_option("--output", command.output, "folder for the results of a sweep")->group("Sweep");
  app.add_option("--resume", command.resume, "continue the sweep in this folder, as it was begun")->group("Sweep");
  app.add_option("--budget", texts.budget, "seconds that a sweep may take: transfers per point follow from it")
      ->group("Sweep");
  app.add_option("--noise", texts.noise, "per cent that are never called slower (1)")->group("Sweep");
  app.add_option("--confirm", texts.confirm,
                 "measure points that are slower again, in so many times the rounds (2; 0: not)")
      ->group("Sweep");
  app.add_flag("--no-plots", texts.no_plots, "do not draw the maps")->group("Sweep");

  app.add_option("--curve", command.curve,
                 "file with the device's curve: read if there is one, else measured and written")
      ->group("Model");
  app.add_option("--curve-time", texts.curve_time, "seconds for measuring the curve (5; in a sweep 120)")
      ->group("Model");
  app.add_flag("--no-model", texts.no_model, "do not compare with the model")->group("Model");
  app.add_flag("--json", command.json, "print the result as JSON")->group("Output");
}

/// Runs `parse`; its error names the option.
template <class Parse>
auto value_of(const char* option, Parse parse) {
  try {
    return parse();
  } catch (const std::invalid_argument& error) {
    throw UsageError(std::string(option) + ": " + error.what());
  }
}

template <class Kind>
std::vector<Kind> kinds_of(const char* option, const std::string& text, Kind (*parse)(const std::string&)) {
  return value_of(option, [&] {
    std::vector<Kind> kinds;
    for (const std::string& name : split_list(text)) {
      const Kind kind = parse(name);
      if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) {
        throw std::invalid_argument("'" + name + "' is there twice");
      }
      kinds.push_back(kind);
    }
    return kinds;
  });
}

void require(bool condition, const std::string& message) {
  if (!condition) {
    throw UsageError(message);
  }
}

unsigned small_count(const char* option, const std::string& text, unsigned least, unsigned most) {
  const std::uint64_t value = value_of(option, [&] { return parse_count(text); });
  require(value >= least && value <= most, std::string(option) + ": '" + text + "' is not from " +
                                               std::to_string(least) + " to " + std::to_string(most));
  return static_cast<unsigned>(value);
}

double number(const char* option, const std::string& text) {
  return value_of(option, [&] { return parse_number(text); });
}

void sweep_defaults(const CLI::App& app, Texts& texts) {
  const auto unless_given = [&](const char* option, std::string& text, const char* value) {
    if (app.count(option) == 0) {
      text = value;
    }
  };
  unless_given("--mode", texts.mode, "mix,fjio");
  unless_given("--variant", texts.variant, "standalone,threads,blocking,nonblocking");
  unless_given("--pattern", texts.pattern, "rw,rr");
  unless_given("--block", texts.block, "4K-8M");
  unless_given("--compute", texts.compute, "1-128");
  unless_given("--series", texts.series, "2x,4x");
}

void understand(Command& command, const Texts& texts) {
  Settings& settings = command.settings;
  Grid& grid = command.grid;
  require(!(texts.direct && texts.buffered), "--direct and --buffered: say one of them");
  settings.direct = !texts.buffered;
  command.model = !texts.no_model;
  settings.workers = small_count("--workers", texts.workers, 0, 4096);
  if (settings.workers == 0) {
    settings.workers = std::max(std::thread::hardware_concurrency(), 1U);
  }
  settings.rounds = small_count("--rounds", texts.rounds, 1, 1000);
  settings.size = value_of("--size", [&] { return parse_size(texts.size); });
  settings.time_limit = number("--time-limit", texts.time_limit);
  settings.seed = value_of("--seed", [&] { return parse_count(texts.seed); });
  settings.iterations_per_ms = number("--calibration", texts.calibration);
  settings.variants = kinds_of("--variant", texts.variant, &variant_of);
  command.operations = value_of("--operations", [&] { return parse_count(texts.operations); });
  command.budget = number("--budget", texts.budget);
  command.curve_time = number("--curve-time", texts.curve_time);
  command.noise = number("--noise", texts.noise) / 100;
  command.confirm = small_count("--confirm", texts.confirm, 0, 100);
  grid.modes = kinds_of("--mode", texts.mode, &mode_of);
  grid.patterns = kinds_of("--pattern", texts.pattern, &pattern_of);
  grid.blocks = value_of("--block", [&] { return parse_sizes(texts.block); });
  grid.computes_ms = value_of("--compute", [&] { return parse_numbers(texts.compute); });
  grid.series = value_of("--series", [&] { return parse_series(texts.series, settings.workers); });
}

void check(const Command& command, const Texts& texts) {
  const Settings& settings = command.settings;
  require(!settings.file.empty(), "--file is missing: name a file on the device to measure");
  for (const std::uint64_t block : command.grid.blocks) {
    require(block >= page_bytes && block <= (64ULL << 20) && block % page_bytes == 0,
            "--block: '" + texts.block + "' must be multiples of 4K, from 4K to 64M");
    require(block <= settings.size,
            "--size: the file of " + size_text(settings.size) + " is smaller than a block of " + size_text(block));
  }
  require(settings.size % page_bytes == 0, "--size: '" + texts.size + "' is not a multiple of 4K");
  require(settings.size <= (1ULL << 46), "--size: '" + texts.size + "' is more than 64 TiB");
  require(command.operations <= 1'000'000'000, "--operations: at most 1000000000");
  require(settings.time_limit > 0 && settings.time_limit <= 1e7,
          "--time-limit: '" + texts.time_limit + "' must be more than 0 and at most 10000000 seconds");
  for (const double compute : command.grid.computes_ms) {
    require(compute <= 60'000, "--compute: '" + texts.compute + "' must be at most 60000 milliseconds");
  }
  require(settings.iterations_per_ms == 0 || (settings.iterations_per_ms >= 1 && settings.iterations_per_ms <= 1e9),
          "--calibration: '" + texts.calibration + "' must be from 1 to 1000000000 turns in a millisecond");
  require(command.budget <= 1e8, "--budget: '" + texts.budget + "' is more than three years");
  require(command.curve_time <= 1e5, "--curve-time: '" + texts.curve_time + "' is more than a day");
  require(command.noise < 1, "--noise: '" + texts.noise + "' must be less than 100 per cent");
  static const std::vector<std::string> engines = {"", "auto", "uring", "aio", "threads"};
  require(std::find(engines.begin(), engines.end(), settings.engine) != engines.end(),
          "--engine: there is no engine '" + settings.engine + "'; there are auto, uring, aio, threads");
  for (const Variant variant : settings.variants) {
    require(variant != Variant::openmp || has_openmp(), "--variant: this dovetail-tiom was built without OpenMP");
    const auto most = *std::max_element(command.grid.series.begin(), command.grid.series.end());
    require(variant != Variant::threads || most <= most_threads, "--variant threads: " + std::to_string(most) +
                                                                     " series would be as many threads; at most " +
                                                                     std::to_string(most_threads));
  }
  if (command.sweep) {
    require(!command.output.empty(), "--sweep needs --output, a folder for its results");
    require(command.budget == 0 || command.model, "--budget needs the model: leave out --no-model");
    require(command.budget == 0 || command.operations == 0, "--budget chooses the transfers: leave out --operations");
    return;
  }
  require(command.output.empty(), "--output is for --sweep");
  require(command.budget == 0, "--budget is for --sweep");
  const Grid& grid = command.grid;
  require(grid.modes.size() == 1 && grid.patterns.size() == 1 && grid.blocks.size() == 1 &&
              grid.computes_ms.size() == 1 && grid.series.size() == 1,
          "lists and ranges of modes, patterns, blocks, compute times and series need --sweep");
}

}  // namespace

std::optional<Command> parse_command(const std::vector<std::string>& arguments) {
  CLI::App app(description, "dovetail-tiom");
  app.set_version_flag("--version", DOVETAIL_VERSION);
  Command command;
  Texts texts;
  texts.variant = "blocking";
  declare(app, command, texts);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return std::nullopt;
  } catch (const CLI::CallForVersion& version) {
    std::cout << version.what() << '\n';
    return std::nullopt;
  } catch (const CLI::Error& error) {
    throw UsageError(error.what());
  }
  command.plots = !texts.no_plots;
  if (app.count("--resume") > 0) {
    require(!command.resume.empty(), "--resume: the folder is missing");
    for (const CLI::Option* option : app.get_options()) {
      const std::string name = option->get_name();
      require(option->count() == 0 || name == "--resume" || name == "--json" || name == "--no-plots",
              "--resume goes on as the sweep was begun: leave out " + name);
    }
    return command;
  }
  if (command.sweep) {
    sweep_defaults(app, texts);
  }
  understand(command, texts);
  check(command, texts);
  return command;
}

std::vector<Point> points_of(const Grid& grid, std::uint64_t operations) {
  std::vector<Point> points;
  for (const Mode mode : grid.modes) {
    for (const Pattern pattern : grid.patterns) {
      for (const std::uint64_t series : grid.series) {
        for (const std::uint64_t block : grid.blocks) {
          for (const double compute_ms : grid.computes_ms) {
            points.push_back({mode, pattern, block, compute_ms, series, operations});
          }
        }
      }
    }
  }
  return points;
}

}  // namespace dovetail::tiom
