// A task for each stream.
#include "cached_transfer/cached_transfer.hpp"

#include <time.h>
#include <cstdio>
#include <dovetail/dovetail.hpp>

namespace {

std::int64_t thread_nanoseconds() noexcept {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("cached_transfer", "dovetail");
  bench::CachedTransfer problem(line);
  const std::string& stalls = line.choice("stalls", {"no", "yes"}, "measure how long a call keeps the core");
  line.parse(argc, argv);
  if (stalls == "yes" && problem.streams() > 1) {
    std::fprintf(stderr, "--stalls yes: measured with one stream only\n");
    return 2;
  }
  problem.prepare();
  dovetail::Runtime runtime(dovetail::Options{.workers = static_cast<unsigned>(line.workers())});
  const dovetail::File file = dovetail::File::from_descriptor(problem.descriptor());
  // Processor time of the thread between the call and its return, or the switch to another task: the core could not do anything else
  // then. Time during which the system ran another program does not count.
  std::vector<std::int64_t> kept;
  const auto transfer = [&](std::int64_t i) {
    problem.begins(i);
    const std::span bytes(problem.buffer(i), problem.block());
    const std::size_t moved =
        problem.writes() ? file.pwrite(bytes, problem.offset(i)) : file.pread(bytes, problem.offset(i));
    problem.ended(i, static_cast<std::int64_t>(moved));
  };
  const auto run_stream = [&](std::int64_t stream) {
    for (std::int64_t i = stream; i < problem.transfers(); i += problem.streams()) {
      const std::int64_t before = stalls == "yes" ? thread_nanoseconds() : 0;
      transfer(i);
      if (stalls == "yes") kept.push_back(thread_nanoseconds() - before);
    }
  };
  const auto run_all = [&] {
    kept.clear();
    for (std::int64_t stream = 0; stream < problem.streams(); ++stream) {
      runtime.spawn([&run_stream, stream] { run_stream(stream); });
    }
    runtime.wait();
  };
  bench::Report report(line);
  bench::measure(line, report,
                 {.operations = problem.transfers(), .run = run_all, .check = [&] { return problem.what_is_wrong(); }});
  if (!kept.empty()) {
    std::sort(kept.begin(), kept.end());
    report.add("stall_us", static_cast<double>(kept.back()) / 1000);
    report.add("stall_p999_us", static_cast<double>(kept[kept.size() * 999 / 1000]) / 1000);
  }
  return report.finish();
}
