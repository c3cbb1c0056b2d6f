/// @file
/// What the command lines of the examples with ranks have in common. Each example adds options of its own, between the first and the last ones.
#pragma once

#include <stdexcept>
#include <string>

namespace CLI {
class App;
}

namespace rank_program {

/// The user asked for something that cannot be done; the message says what. Exit status 2.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The command line, checked.
struct Options {
  std::string variant = "two-sided";  ///< One of those that `add_first_options` lists.
  int workers = 0;  ///< Of a rank, in the variants that have several. 0: the cores of the machine, shared by the ranks.
  int poll_microseconds = 0;  ///< Between two looks of the variant `multiple`.
  int repeat = 1;             ///< Timed runs.
  int warmup = 0;             ///< Runs before them.
  std::string output = {};    ///< File for what comes out; empty: none.
  bool json = false;          ///< Report as JSON.
  std::string help = {};      ///< The text that was asked for; empty: none was.
};

/// An option that counts something takes no more.
inline constexpr int largest_count = 1 << 24;

/// Begins a command line: the last of several values of an option holds, and `--variant` comes first. `options` lives until it has been parsed.
void add_first_options(CLI::App& line, Options& options);
/// Ends it, from `--workers` to `--json`. `output`: what `--output` is for.
void add_last_options(CLI::App& line, Options& options, const std::string& output);
/// Reads it into the variables of its options. @returns Whether the program is to run: not if help was asked for, which is in `options` then.
/// @throws BadInput naming the option.
[[nodiscard]] bool parse(CLI::App& line, Options& options, int count, const char* const* arguments);

/// Threads of each rank that compute.
int workers_of(const Options& options, int ranks);

}  // namespace rank_program
