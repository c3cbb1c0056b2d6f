// What every benchmark executable shares: its command line, its clocks, the repeats and the report.
//
// Use it for a program that measures one problem with one runtime. It knows nothing of Dovetail. This header needs the standard library alone, so
// that any compiler can compile a program of a peer. The main thread calls these functions in order; no task may call them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace bench {

/// Nanoseconds on the monotonic clock.
[[nodiscard]] std::int64_t wall_nanoseconds() noexcept;

/// Nanoseconds of processor time, user and system, of all threads of this process so far.
[[nodiscard]] std::int64_t cpu_nanoseconds() noexcept;
/// The time that the processors of the machine were not idle, the kernel's threads and interrupts included, to 10 ms. Only differences of it mean
/// something.
[[nodiscard]] std::int64_t machine_busy_nanoseconds();

/// The folder for the files of a benchmark: what the variable DOVETAIL_BENCH_DIR names, or the current folder.
[[nodiscard]] std::string folder_for_files();
/// Ends the program with exit status 2 and a message: `what`, usually a path, and the error in `errno`.
[[noreturn]] void die(const std::string& what);

/// Memory of this process as the kernel counts it, in bytes.
struct Memory {
  std::int64_t resident = 0;
  std::int64_t peak_resident = 0;
  std::int64_t mapped = 0;
};
/// Reads /proc/self; ends the program with a message where that is not possible.
[[nodiscard]] Memory memory_now();

/// The command line of one benchmark executable: `--workers`, `--repeat`, `--warmup`, `--json`, `--help`, the
/// problem's sizes and its choices. Of an option that is given twice the last value counts. Bad input ends the program with a message and exit
/// status 2.
class CommandLine {
 public:
  CommandLine(std::string benchmark, std::string contender);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  /// Declares `--name N`, a positive number. The reference stays valid as long as this object.
  const std::int64_t& size(const std::string& name, std::int64_t standard, const std::string& meaning);

  /// Declares `--name WORD`, one of `allowed`, whose first entry is the default.
  const std::string& choice(const std::string& name, std::vector<std::string> allowed, const std::string& meaning);

  /// Reads the arguments; call it once, after all declarations.
  void parse(int count, char** arguments);

  [[nodiscard]] int workers() const noexcept { return static_cast<int>(workers_); }
  [[nodiscard]] int repeat() const noexcept { return static_cast<int>(repeat_); }
  [[nodiscard]] int warmup() const noexcept { return static_cast<int>(warmup_); }

 private:
  friend class Report;

  std::string benchmark_;
  std::string contender_;
  std::map<std::string, std::int64_t> sizes_;
  std::map<std::string, std::string> choices_;
  std::int64_t workers_ = 2;
  std::int64_t repeat_ = 5;
  std::int64_t warmup_ = 1;
  bool json_ = false;
  std::unique_ptr<CLI::App> options_;
};

/// What one executable measured: named series of samples, and whether every answer was right.
class Report {
 public:
  explicit Report(const CommandLine& command_line) : command_line_(command_line) {}

  /// Appends one sample to the series `metric`.
  void add(const std::string& metric, double sample);

  /// Notes a wrong answer: the report says so and the program's exit status will be 1.
  void wrong(const std::string& what);

  /// Prints the report (JSON with `--json`, else a few lines) and gives the exit status.
  [[nodiscard]] int finish();
  /// Prints only what is wrong and gives the exit status: for one of several processes that report as one.
  [[nodiscard]] int status() const;

 private:
  const CommandLine& command_line_;
  std::vector<std::string> order_;
  std::map<std::string, std::vector<double>> samples_;
  std::vector<std::string> wrong_;
};

/// One timed run of a problem, `nothing wrong` being an empty string.
struct Problem {
  /// Operations in one run: what the time is divided by.
  std::int64_t operations = 1;
  /// Puts the data into its first state; not timed.
  std::function<void()> prepare = [] {};
  /// The timed part.
  std::function<void()> run;
  /// Says what is wrong with the answer, or nothing; not timed.
  std::function<std::string()> check = [] { return std::string{}; };
};

/// Runs the problem `warmup` and then `repeat` times. Adds to the report, per operation, `ns` (wall nanoseconds) and `cpu_ns` (processor
/// nanoseconds of all threads).
void measure(const CommandLine& command_line, Report& report, const Problem& problem);

/// `measure` and `finish` in one call, for executables with a single problem.
[[nodiscard]] int measure_and_finish(const CommandLine& command_line, const Problem& problem);

}  // namespace bench
