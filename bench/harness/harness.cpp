#include "harness.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

namespace bench {
namespace {

std::int64_t read_clock(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

}  // namespace

std::int64_t wall_nanoseconds() noexcept { return read_clock(CLOCK_MONOTONIC); }

std::int64_t cpu_nanoseconds() noexcept { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

std::int64_t machine_busy_nanoseconds() {
  std::ifstream statistics("/proc/stat");
  std::string key;
  std::int64_t user = 0;
  std::int64_t nice = 0;
  std::int64_t system = 0;
  std::int64_t idle = 0;
  std::int64_t waits = 0;
  if (!(statistics >> key >> user >> nice >> system >> idle >> waits)) {
    std::fprintf(stderr, "cannot read the idle time of the machine from /proc/stat: mount /proc\n");
    std::exit(1);
  }
  // The time at work is only sampled; the idle time is measured.
  const std::int64_t idle_nanoseconds = (idle + waits) * (1'000'000'000 / sysconf(_SC_CLK_TCK));
  return wall_nanoseconds() * sysconf(_SC_NPROCESSORS_ONLN) - idle_nanoseconds;
}

std::string folder_for_files() {
  const char* folder = std::getenv("DOVETAIL_BENCH_DIR");
  return folder != nullptr ? folder : ".";
}

void die(const std::string& what) {
  std::perror(what.c_str());
  std::exit(2);
}

Memory memory_now() {
  Memory memory;
  std::ifstream status("/proc/self/status");
  std::string key;
  while (status >> key) {
    std::int64_t kibibytes = 0;
    if (key == "VmRSS:" && status >> kibibytes) memory.resident = kibibytes * 1024;
    if (key == "VmHWM:" && status >> kibibytes) memory.peak_resident = kibibytes * 1024;
    if (key == "VmSize:" && status >> kibibytes) memory.mapped = kibibytes * 1024;
    status.ignore(4096, '\n');
  }
  if (memory.resident == 0) {
    std::fprintf(stderr, "cannot read the memory of this process from /proc/self/status: mount /proc\n");
    std::exit(1);
  }
  return memory;
}

CommandLine::CommandLine(std::string benchmark, std::string contender)
    : benchmark_(std::move(benchmark)),
      contender_(std::move(contender)),
      options_(std::make_unique<CLI::App>(benchmark_ + ", solved with " + contender_)) {
  options_->add_option("--workers", workers_, "threads that run tasks")->check(CLI::PositiveNumber)->take_last();
  options_->add_option("--repeat", repeat_, "timed runs")->check(CLI::PositiveNumber)->take_last();
  options_->add_option("--warmup", warmup_, "runs before them that are not reported")
      ->check(CLI::NonNegativeNumber)
      ->take_last();
  options_->add_flag("--json", json_, "print one JSON object");
}

CommandLine::~CommandLine() = default;

const std::int64_t& CommandLine::size(const std::string& name, std::int64_t standard, const std::string& meaning) {
  std::int64_t& value = sizes_[name] = standard;
  options_->add_option("--" + name, value, meaning)->check(CLI::PositiveNumber)->capture_default_str()->take_last();
  return value;
}

const std::string& CommandLine::choice(const std::string& name, std::vector<std::string> allowed,
                                       const std::string& meaning) {
  std::string& value = choices_[name] = allowed.front();
  options_->add_option("--" + name, value, meaning)
      ->check(CLI::IsMember(std::move(allowed)))
      ->capture_default_str()
      ->take_last();
  return value;
}

void CommandLine::parse(int count, char** arguments) {
  try {
    options_->parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    std::exit(options_->exit(error) == 0 ? 0 : 2);
  }
}

void Report::add(const std::string& metric, double sample) {
  if (samples_.find(metric) == samples_.end()) order_.push_back(metric);
  samples_[metric].push_back(sample);
}

void Report::wrong(const std::string& what) { wrong_.push_back(what); }

int Report::finish() {
  add("peak_resident_bytes", static_cast<double>(memory_now().peak_resident));
  const CommandLine& line = command_line_;
  if (line.json_) {
    nlohmann::ordered_json report = {
        {"benchmark", line.benchmark_}, {"contender", line.contender_}, {"workers", line.workers_}};
    nlohmann::ordered_json& parameters = report["parameters"] = nlohmann::ordered_json::object();
    for (const auto& [name, value] : line.sizes_) parameters[name] = value;
    for (const auto& [name, value] : line.choices_) parameters[name] = value;
    report["correct"] = wrong_.empty();
    report["wrong"] = wrong_.empty() ? "" : wrong_.front();
    nlohmann::ordered_json& metrics = report["metrics"] = nlohmann::ordered_json::object();
    for (const std::string& metric : order_) metrics[metric] = samples_.at(metric);
    std::printf("%s\n", report.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
  } else {
    std::printf("%s, %s, %lld workers\n", line.benchmark_.c_str(), line.contender_.c_str(),
                static_cast<long long>(line.workers_));
    for (const std::string& metric : order_) {
      const auto& values = samples_.at(metric);
      std::printf("  %-24s median %s   min %s   max %s   (%zu)\n", metric.c_str(), number(median(values)).c_str(),
                  number(*std::min_element(values.begin(), values.end())).c_str(),
                  number(*std::max_element(values.begin(), values.end())).c_str(), values.size());
    }
  }
  return status();
}

int Report::status() const {
  for (const std::string& what : wrong_) std::fprintf(stderr, "wrong answer: %s\n", what.c_str());
  return wrong_.empty() ? 0 : 1;
}

void measure(const CommandLine& command_line, Report& report, const Problem& problem) {
  const int total = command_line.warmup() + command_line.repeat();
  const double operations = static_cast<double>(problem.operations);
  for (int run = 0; run < total; ++run) {
    problem.prepare();
    const std::int64_t cpu_start = cpu_nanoseconds();
    const std::int64_t wall_start = wall_nanoseconds();
    problem.run();
    const std::int64_t wall = wall_nanoseconds() - wall_start;
    const std::int64_t cpu = cpu_nanoseconds() - cpu_start;
    if (const std::string what = problem.check(); !what.empty()) report.wrong(what);
    if (run < command_line.warmup()) continue;
    report.add("ns", static_cast<double>(wall) / operations);
    report.add("cpu_ns", static_cast<double>(cpu) / operations);
  }
}

int measure_and_finish(const CommandLine& command_line, const Problem& problem) {
  Report report(command_line);
  measure(command_line, report, problem);
  return report.finish();
}

}  // namespace bench
