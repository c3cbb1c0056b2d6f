// Plain calls on one thread.
#include "cached_read/cached_read.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("cached_read", "pread");
  bench::CachedRead problem(line);
  line.parse(argc, argv);
  problem.prepare();
  return bench::measure_and_finish(line, {.operations = problem.reads(),
                                          .run =
                                              [&] {
                                                for (std::int64_t i = 0; i < problem.reads(); ++i) {
                                                  problem.ended(
                                                      i, pread(problem.descriptor(), problem.buffer(), problem.block(),
                                                               static_cast<off_t>(problem.offset(i))));
                                                }
                                              },
                                          .check = [&] { return problem.what_is_wrong(); }});
}
