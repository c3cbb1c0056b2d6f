// fib with Dovetail.
#include "fibonacci/fibonacci.hpp"
#include "tasking/common.hpp"

namespace {

std::int64_t both(std::int64_t n) {
  if (n < 2) return n;
  std::int64_t first = 0;
  std::int64_t second = 0;
  dovetail::spawn([n, &first] { first = both(n - 1); });
  dovetail::spawn([n, &second] { second = both(n - 2); });
  dovetail::wait();
  return first + second;
}

std::int64_t one(std::int64_t n) {
  if (n < 2) return n;
  const auto first = dovetail::spawn([n] { return one(n - 1); });
  const std::int64_t second = one(n - 2);
  return first.get() + second;
}

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("fibonacci", "dovetail");
  bench::Fibonacci problem(line);
  line.parse(argc, argv);

  dovetail::Runtime runtime(bench::runtime_options(line));
  const auto solve = problem.shape == "both" ? both : one;
  return bench::measure_and_finish(
      line, problem.timed([&] { problem.result = runtime.spawn([&] { return solve(problem.index); }).get(); }));
}
