#include "harness.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
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

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') result += '\\';
    result += static_cast<unsigned char>(letter) < 0x20 ? ' ' : letter;
  }
  return result + '"';
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

// Keeps measured series readable without losing the digits of large byte counts.
std::string exact(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.15g", value);
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
    : benchmark_(std::move(benchmark)), contender_(std::move(contender)) {}

const std::int64_t& CommandLine::size(const std::string& name, std::int64_t standard, const std::string& meaning) {
  meanings_[name] = meaning;
  return sizes_[name] = standard;
}

const std::string& CommandLine::choice(const std::string& name, std::vector<std::string> allowed,
                                       const std::string& meaning) {
  meanings_[name] = meaning;
  Choice& choice = choices_[name];
  choice.value = allowed.front();
  choice.allowed = std::move(allowed);
  return choice.value;
}

void CommandLine::usage(int status) const {
  std::FILE* out = status == 0 ? stdout : stderr;
  std::fprintf(out, "%s, solved with %s\n", benchmark_.c_str(), contender_.c_str());
  std::fprintf(out, "  --workers N   threads that run tasks (%lld)\n", static_cast<long long>(workers_));
  std::fprintf(out, "  --repeat N    timed runs (%lld)\n", static_cast<long long>(repeat_));
  std::fprintf(out, "  --warmup N    runs before them that are not reported, 0 allowed (%lld)\n",
               static_cast<long long>(warmup_));
  std::fprintf(out, "  --json        print one JSON object\n");
  for (const auto& [name, value] : sizes_) {
    std::fprintf(out, "  --%s N   %s (%lld)\n", name.c_str(), meanings_.at(name).c_str(),
                 static_cast<long long>(value));
  }
  for (const auto& [name, choice] : choices_) {
    std::string words;
    for (const std::string& word : choice.allowed) words += (words.empty() ? "" : "|") + word;
    std::fprintf(out, "  --%s %s   %s (%s)\n", name.c_str(), words.c_str(), meanings_.at(name).c_str(),
                 choice.value.c_str());
  }
  std::exit(status);
}

void CommandLine::refuse(const std::string& message) const {
  std::fprintf(stderr, "%s\n", message.c_str());
  usage(2);
}

void CommandLine::parse(int count, char** arguments) {
  for (int index = 1; index < count; ++index) {
    const std::string argument = arguments[index];
    if (argument == "--help") usage(0);
    if (argument == "--json") {
      json_ = true;
      continue;
    }
    if (argument.rfind("--", 0) != 0) refuse("not an option: " + argument);
    const std::string name = argument.substr(2);
    if (index + 1 == count) refuse(argument + " needs a value, or is unknown");
    const std::string text = arguments[++index];

    if (const auto choice = choices_.find(name); choice != choices_.end()) {
      const auto& allowed = choice->second.allowed;
      if (std::find(allowed.begin(), allowed.end(), text) == allowed.end()) {
        refuse(argument + " cannot be " + text);
      }
      choice->second.value = text;
      continue;
    }
    std::int64_t value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::int64_t least = name == "warmup" ? 0 : 1;
    const bool is_number = parsed.ec == std::errc{} && parsed.ptr == text.data() + text.size();
    std::int64_t* place = name == "workers"         ? &workers_
                          : name == "repeat"        ? &repeat_
                          : name == "warmup"        ? &warmup_
                          : sizes_.count(name) != 0 ? &sizes_.at(name)
                                                    : nullptr;
    if (place == nullptr) refuse("unknown option: " + argument);
    if (!is_number || value < least) {
      refuse(argument + " needs a whole number of at least " + std::to_string(least) + ", not " + text);
    }
    *place = value;
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
    std::string text = "{\"benchmark\": " + quoted(line.benchmark_) + ", \"contender\": " + quoted(line.contender_) +
                       ", \"workers\": " + std::to_string(line.workers_) + ", \"parameters\": {";
    const char* separator = "";
    for (const auto& [name, value] : line.sizes_) {
      text += separator + quoted(name) + ": " + std::to_string(value);
      separator = ", ";
    }
    for (const auto& [name, choice] : line.choices_) {
      text += separator + quoted(name) + ": " + quoted(choice.value);
      separator = ", ";
    }
    text += "}, \"correct\": ";
    text += wrong_.empty() ? "true" : "false";
    text += ", \"wrong\": " + quoted(wrong_.empty() ? "" : wrong_.front()) + ", \"metrics\": {";
    separator = "";
    for (const std::string& metric : order_) {
      text += separator + quoted(metric) + ": [";
      const char* comma = "";
      for (const double sample : samples_.at(metric)) {
        text += comma + exact(sample);
        comma = ", ";
      }
      text += "]";
      separator = ", ";
    }
    std::printf("%s}}\n", text.c_str());
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
