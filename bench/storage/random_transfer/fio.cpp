// The same transfers by fio, whose own numbers are reported. Processor time is that of fio's process as the kernel counts it.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "random_transfer/random_transfer.hpp"

namespace {

// fio --output-format=terse, version 3: numbers of the fields that are needed.
constexpr std::size_t read_iops = 7;
constexpr std::size_t read_percentiles = 17;
constexpr std::size_t write_iops = 48;
constexpr std::size_t write_percentiles = 58;

std::vector<std::string> run_fio(const std::string& command) {
  std::vector<std::string> fields(1);
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  for (int letter = std::fgetc(pipe); letter != EOF && letter != '\n'; letter = std::fgetc(pipe)) {
    if (letter == ';') {
      fields.emplace_back();
    } else {
      fields.back() += static_cast<char>(letter);
    }
  }
  return pclose(pipe) == 0 ? fields : std::vector<std::string>{};
}

double children_seconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

// "99.000000%=1234" among the twenty percentiles: microseconds.
double percentile_99(const std::vector<std::string>& fields, std::size_t first) {
  for (std::size_t i = first; i < first + 20 && i < fields.size(); ++i) {
    if (fields[i].rfind("99.000000%=", 0) == 0) return std::strtod(fields[i].c_str() + 11, nullptr);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("random_transfer", "fio");
  bench::RandomTransfer problem(line);
  line.parse(argc, argv);
  problem.prepare();
  // fio does not check the contents of the file, and it overwrites them: it gets a copy.
  const std::string path = problem.path() + ".fio";
  const std::string command =
      "fio --name=bench --filename='" + path + "' --size=" + std::to_string(problem.file_bytes()) +
      " --bs=" + std::to_string(problem.block()) + " --rw=" + (problem.writes() ? "randwrite" : "randread") +
      " --direct=1 --ioengine=io_uring --time_based --runtime=" +
      std::to_string((problem.milliseconds() + 999) / 1000) + "s --iodepth=" + std::to_string(problem.depth()) +
      " --output-format=terse --terse-version=3 2>/dev/null";
  bench::Report report(line);
  for (int i = 0; i < line.warmup() + line.repeat(); ++i) {
    const double before = children_seconds();
    const std::vector<std::string> fields = run_fio(command);
    if (fields.size() < write_percentiles + 20) {
      std::fprintf(stderr, "fio did not run: is it installed (packages/apt-bench.txt)?\n");
      return 2;
    }
    if (i < line.warmup()) continue;
    const double iops = std::strtod(fields[problem.writes() ? write_iops : read_iops].c_str(), nullptr);
    const double seconds = static_cast<double>((problem.milliseconds() + 999) / 1000);
    report.add("iops", iops);
    report.add("ns", iops > 0 ? 1e9 / iops : 0);
    report.add("cpu_us", iops > 0 ? (children_seconds() - before) * 1e6 / (iops * seconds) : 0);
    report.add("p99_us", percentile_99(fields, problem.writes() ? write_percentiles : read_percentiles));
  }
  return report.finish();
}
