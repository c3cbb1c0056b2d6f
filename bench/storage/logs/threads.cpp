// A thread for each log.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "logs/logs.hpp"

namespace {

void append(bench::Logs& problem, std::int64_t log) {
  const int descriptor = problem.descriptor(log);
  for (std::int64_t number = 0; number < problem.records(); ++number) {
    const auto record = problem.record(log, number);
    const auto offset = static_cast<off_t>(problem.offset(number));
    if (pwrite(descriptor, record.data(), record.size(), offset) != static_cast<ssize_t>(record.size()) ||
        fdatasync(descriptor) != 0) {
      std::perror("appending to a log");
      std::exit(1);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("logs", "threads");
  bench::Logs problem(line);
  line.parse(argc, argv);
  const auto append_all = [&] {
    std::vector<std::jthread> threads;
    for (std::int64_t log = 0; log < problem.logs(); ++log) threads.emplace_back([&, log] { append(problem, log); });
  };
  return bench::measure_and_finish(line, {.operations = problem.operations(),
                                          .prepare = [&] { problem.prepare(); },
                                          .run = append_all,
                                          .check = [&] { return problem.what_is_wrong(); }});
}
