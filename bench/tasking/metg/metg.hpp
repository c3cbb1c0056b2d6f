// The problem: METG(50 %), the minimum effective task granularity of Task Bench. A stencil of few points runs with ever
// shorter tasks. Its efficiency is its rate of useful work, divided by that of the same number of threads without any runtime. Its granularity is
// wall time x workers / tasks. METG is the granularity at which efficiency is one half.
#pragma once

#include <functional>

#include "harness/harness.hpp"

namespace bench {

/// Work of a task: `iterations` dependent steps in a register. The result is thrown away.
inline void busy_work(std::int64_t iterations) noexcept {
  std::uint64_t value = 1;
  for (std::int64_t i = 0; i < iterations; ++i) {
    value = value * 6364136223846793005U + 1442695040888963407U;
    asm volatile("" : "+r"(value));
  }
}

class Metg {
 public:
  /// Declares its options on the command line.
  explicit Metg(CommandLine& line);

  /// Makes the problem whose run is `steps` steps over `points` points with the peer's tasks, each of which does `busy_work(iterations)`.
  using Make = std::function<Problem(std::int64_t steps, std::int64_t points, std::int64_t iterations)>;

  /// Finds METG `warmup` + `repeat` times and prints the report; gives the exit status.
  [[nodiscard]] int find(const Make& make);

 private:
  struct Point {
    double granularity = 0;  // nanoseconds
    double efficiency = 0;
  };

  [[nodiscard]] double nanoseconds_per_iteration() const;
  [[nodiscard]] Point measure_point(const Make& make, double task_nanoseconds, double per_iteration, Report& report);

  CommandLine& line_;
  const std::int64_t& steps_;
  const std::int64_t& width_;
  const std::int64_t& tries_;
};

}  // namespace bench
