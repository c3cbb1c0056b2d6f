// fib with oneTBB: a task group for each call.
#include "tasking/onetbb.hpp"
#include "fibonacci/fibonacci.hpp"

namespace {

std::int64_t both(std::int64_t n) {
  if (n < 2) return n;
  std::int64_t first = 0;
  std::int64_t second = 0;
  tbb::task_group group;
  group.run([n, &first] { first = both(n - 1); });
  group.run([n, &second] { second = both(n - 2); });
  group.wait();
  return first + second;
}

std::int64_t one(std::int64_t n) {
  if (n < 2) return n;
  std::int64_t first = 0;
  tbb::task_group group;
  group.run([n, &first] { first = one(n - 1); });
  const std::int64_t second = one(n - 2);
  group.wait();
  return first + second;
}

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("fibonacci", "onetbb");
  bench::Fibonacci problem(line);
  line.parse(argc, argv);

  bench::TbbThreads threads(line);
  const auto solve = problem.shape == "both" ? both : one;
  return bench::measure_and_finish(
      line, problem.timed([&] { threads.execute([&] { problem.result = solve(problem.index); }); }));
}
