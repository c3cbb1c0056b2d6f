// fib with OpenMP.
#include "tasking/openmp.hpp"
#include "fibonacci/fibonacci.hpp"

namespace {

std::int64_t both(std::int64_t n) {
  if (n < 2) return n;
  std::int64_t first = 0;
  std::int64_t second = 0;
#pragma omp task shared(first) firstprivate(n) default(none)
  first = both(n - 1);
#pragma omp task shared(second) firstprivate(n) default(none)
  second = both(n - 2);
#pragma omp taskwait
  return first + second;
}

std::int64_t one(std::int64_t n) {
  if (n < 2) return n;
  std::int64_t first = 0;
#pragma omp task shared(first) firstprivate(n) default(none)
  first = one(n - 1);
  const std::int64_t second = one(n - 2);
#pragma omp taskwait
  return first + second;
}

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("fibonacci", bench::openmp_runtime);
  bench::Fibonacci problem(line);
  line.parse(argc, argv);

  const auto solve = problem.shape == "both" ? both : one;
  return bench::measure_and_finish(line, problem.timed([&] {
#pragma omp parallel num_threads(line.workers())
#pragma omp single
    problem.result = solve(problem.index);
  }));
}
