// `depth` tasks, each of which pauses for one request after the other. `extra_ns` is what this costs above the bare loop,
// which runs right after it in the same process.
#include <dovetail/dovetail.hpp>

#include <atomic>
#include <string>

#include "nop/nop.hpp"
#include "storage/perform.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("nop", "dovetail");
  const bench::NopProblem nop = bench::declare_nop(line);
  line.parse(argc, argv);
  dovetail::Runtime runtime(dovetail::Options{.workers = static_cast<unsigned>(line.workers()), .engine = "uring"});
  bench::BareLoop loop;
  std::atomic<std::int64_t> ended{0};
  const std::int64_t each = nop.requests / nop.depth;
  const auto pause_for_all = [&] {
    for (std::int64_t i = 0; i < nop.depth; ++i) {
      runtime.spawn([&] {
        for (std::int64_t k = 0; k < each; ++k) {
          dovetail::storage::nop();
        }
        ended.fetch_add(each, std::memory_order_relaxed);
      });
    }
    runtime.wait();
  };
  bench::Report report(line);
  for (int i = 0; i < line.warmup() + line.repeat(); ++i) {
    ended = 0;
    const std::int64_t start = bench::wall_nanoseconds();
    const std::int64_t start_cpu = bench::cpu_nanoseconds();
    pause_for_all();
    const std::int64_t middle = bench::wall_nanoseconds();
    const std::int64_t middle_cpu = bench::cpu_nanoseconds();
    loop.run(nop);
    const std::int64_t end = bench::wall_nanoseconds();
    const std::int64_t end_cpu = bench::cpu_nanoseconds();
    if (ended.load() != each * nop.depth) {
      report.wrong("requests were lost");
    }
    if (i >= line.warmup()) {
      const auto paused = static_cast<double>(each * nop.depth);
      const auto bare = static_cast<double>(nop.requests);
      report.add("ns", static_cast<double>(middle - start) / paused);
      report.add("cpu_ns", static_cast<double>(middle_cpu - start_cpu) / paused);
      report.add("extra_ns", static_cast<double>(middle - start) / paused - static_cast<double>(end - middle) / bare);
      report.add("extra_cpu_ns", static_cast<double>(middle_cpu - start_cpu) / paused -
                                     static_cast<double>(end_cpu - middle_cpu) / bare);
    }
  }
  return report.finish();
}
