// `depth` tasks, each of which pauses for one request after the other.
#include "nop/nop.hpp"

#include <dovetail/dovetail.hpp>

#include <atomic>
#include <string>

#include "storage/operation.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("nop", "dovetail");
  const bench::NopProblem nop = bench::declare_nop(line);
  line.parse(argc, argv);
  dovetail::Runtime runtime(dovetail::Options{.workers = static_cast<unsigned>(line.workers()), .engine = "uring"});
  std::atomic<std::int64_t> ended{0};
  const std::int64_t each = nop.requests / nop.depth;
  const bench::Problem problem{
      .operations = each * nop.depth,
      .prepare = [&] { ended = 0; },
      .run =
          [&] {
            for (std::int64_t i = 0; i < nop.depth; ++i) {
              runtime.spawn([&] {
                for (std::int64_t k = 0; k < each; ++k) {
                  dovetail::storage::nop();
                }
                ended.fetch_add(each, std::memory_order_relaxed);
              });
            }
            runtime.wait();
          },
      .check = [&] { return ended.load() == each * nop.depth ? std::string() : "requests were lost"; },
  };
  return bench::measure_and_finish(line, problem);
}
