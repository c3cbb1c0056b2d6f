// Plain calls, on a thread for each stream; one stream needs no other thread.
#include <thread>

#include "cached_transfer/cached_transfer.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("cached_transfer", "thread");
  bench::CachedTransfer problem(line);
  line.parse(argc, argv);
  problem.prepare();
  const auto transfer = [&](std::int64_t i) {
    const auto offset = static_cast<off_t>(problem.offset(i));
    return problem.writes() ? pwrite(problem.descriptor(), problem.buffer(i), problem.block(), offset)
                            : pread(problem.descriptor(), problem.buffer(i), problem.block(), offset);
  };
  const auto run_stream = [&](std::int64_t stream) {
    for (std::int64_t i = stream; i < problem.transfers(); i += problem.streams()) {
      problem.begins(i);
      problem.ended(i, transfer(i));
    }
  };
  const auto run_all = [&] {
    std::vector<std::jthread> others;
    for (std::int64_t stream = 1; stream < problem.streams(); ++stream) {
      others.emplace_back([&run_stream, stream] { run_stream(stream); });
    }
    run_stream(0);
  };
  return bench::measure_and_finish(
      line, {.operations = problem.transfers(), .run = run_all, .check = [&] { return problem.what_is_wrong(); }});
}
