// Plain calls on one thread.
#include "cached_transfer/cached_transfer.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("cached_transfer", "thread");
  bench::CachedTransfer problem(line);
  line.parse(argc, argv);
  problem.prepare();
  const auto transfer = [&](std::int64_t i) {
    const auto offset = static_cast<off_t>(problem.offset(i));
    return problem.writes() ? pwrite(problem.descriptor(), problem.buffer(), problem.block(), offset)
                            : pread(problem.descriptor(), problem.buffer(), problem.block(), offset);
  };
  return bench::measure_and_finish(line, {.operations = problem.transfers(),
                                          .run =
                                              [&] {
                                                for (std::int64_t i = 0; i < problem.transfers(); ++i) {
                                                  problem.begins(i);
                                                  problem.ended(i, transfer(i));
                                                }
                                              },
                                          .check = [&] { return problem.what_is_wrong(); }});
}
