// One task that transfers.
#include "cached_transfer/cached_transfer.hpp"

#include <time.h>
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
  problem.prepare();
  dovetail::Runtime runtime(dovetail::Options{.workers = static_cast<unsigned>(line.workers())});
  const dovetail::File file = dovetail::File::from_descriptor(problem.descriptor());
  // Processor time of the thread between the call and its return, or the switch to another task: what the core could not use
  // for anything else. Time during which the system ran another program does not count.
  std::vector<std::int64_t> kept;
  bench::Report report(line);
  bench::measure(line, report,
                 {.operations = problem.transfers(),
                  .run =
                      [&] {
                        kept.clear();
                        runtime
                            .spawn([&] {
                              for (std::int64_t i = 0; i < problem.transfers(); ++i) {
                                problem.begins(i);
                                const std::int64_t before = stalls == "yes" ? thread_nanoseconds() : 0;
                                const std::span bytes(problem.buffer(), problem.block());
                                const std::size_t moved = problem.writes() ? file.pwrite(bytes, problem.offset(i))
                                                                           : file.pread(bytes, problem.offset(i));
                                if (stalls == "yes") kept.push_back(thread_nanoseconds() - before);
                                problem.ended(i, static_cast<std::int64_t>(moved));
                              }
                            })
                            .get();
                      },
                  .check = [&] { return problem.what_is_wrong(); }});
  if (!kept.empty()) {
    std::sort(kept.begin(), kept.end());
    report.add("stall_us", static_cast<double>(kept.back()) / 1000);
    report.add("stall_p999_us", static_cast<double>(kept[kept.size() * 999 / 1000]) / 1000);
  }
  return report.finish();
}
