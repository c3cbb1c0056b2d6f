// Loop and sum with Dovetail.
#include "loop/loop.hpp"
#include "tasking/common.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("loop", "dovetail");
  bench::Loop problem(line);
  line.parse(argc, argv);

  dovetail::Runtime runtime(bench::runtime_options(line));
  const auto write_first = [&](std::size_t begin, std::size_t end) { problem.write_first(begin, end); };
  const auto change = [&](std::size_t begin, std::size_t end) { problem.change(begin, end); };
  const auto sum_of = [&](std::size_t begin, std::size_t end) { return problem.sum_of(begin, end); };
  return bench::measure_and_finish(
      line, problem.timed([&] { runtime.parallel_for(std::size_t{0}, problem.length(), write_first, problem.piece()); },
                          [&] { runtime.parallel_for(std::size_t{0}, problem.length(), change, problem.piece()); },
                          [&] {
                            return runtime.parallel_reduce(std::size_t{0}, problem.length(), 0.0, sum_of, std::plus<>(),
                                                           problem.piece());
                          }));
}
