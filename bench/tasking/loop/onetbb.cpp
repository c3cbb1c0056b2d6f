// Loop and sum with oneTBB, in pieces of the size that was asked for.
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_reduce.h>

#include "loop/loop.hpp"
#include "tasking/onetbb.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("loop", "onetbb");
  bench::Loop problem(line);
  line.parse(argc, argv);

  using Range = tbb::blocked_range<std::size_t>;
  bench::TbbThreads threads(line);
  const auto whole = [&] { return Range(0, problem.length(), problem.piece()); };
  const auto for_each = [&](const auto& body) {
    threads.execute([&] {
      tbb::parallel_for(whole(), [&](const Range& part) { body(part.begin(), part.end()); }, tbb::simple_partitioner());
    });
  };
  const auto write_first = [&] {
    for_each([&](std::size_t begin, std::size_t end) { problem.write_first(begin, end); });
  };
  const auto change = [&] { for_each([&](std::size_t begin, std::size_t end) { problem.change(begin, end); }); };
  const auto sum_up = [&] {
    double sum = 0;
    threads.execute([&] {
      sum = tbb::parallel_reduce(
          whole(), 0.0,
          [&](const Range& part, double before) { return before + problem.sum_of(part.begin(), part.end()); },
          std::plus<>(), tbb::simple_partitioner());
    });
    return sum;
  };
  return bench::measure_and_finish(line, problem.timed(write_first, change, sum_up));
}
