// A task for each log.
#include <dovetail/dovetail.hpp>

#include "logs/logs.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("logs", "dovetail");
  bench::Logs problem(line);
  const std::string& way = line.choice("way", {"two_calls", "durable"}, "pwrite and fdatasync, or pwrite_durable");
  line.parse(argc, argv);
  dovetail::Runtime runtime(dovetail::Options{.workers = static_cast<unsigned>(line.workers())});
  const auto append_all = [&] {
    for (std::int64_t log = 0; log < problem.logs(); ++log) {
      runtime.spawn({.label = "log"}, [&problem, &way, log] {
        const dovetail::File file = dovetail::File::from_descriptor(problem.descriptor(log));
        for (std::int64_t number = 0; number < problem.records(); ++number) {
          if (way == "durable") {
            file.pwrite_durable(problem.record(log, number), problem.offset(number));
          } else {
            file.pwrite(problem.record(log, number), problem.offset(number));
            file.fdatasync();
          }
        }
      });
    }
    runtime.wait();
  };
  return bench::measure_and_finish(line, {.operations = problem.operations(),
                                          .prepare = [&] { problem.prepare(); },
                                          .run = append_all,
                                          .check = [&] { return problem.what_is_wrong(); }});
}
