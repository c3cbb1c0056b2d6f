// The problem: the recursive definition of a Fibonacci number without a cut-off, in two shapes of fork and join. `both`
// makes a task of either call and waits for the two. `one` makes a task of the first and calls the second.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/harness.hpp"

namespace bench {

inline constexpr std::int64_t default_fibonacci_index = 30;

struct Fibonacci {
  Fibonacci(CommandLine& line)
      : index(line.size("index", default_fibonacci_index, "which number of the sequence")),
        shape(line.choice("shape", {"both", "one"}, "which of the two calls are tasks")) {}

  /// An operation is one call of the function, a task or not, so that both shapes compare.
  [[nodiscard]] Problem timed(std::function<void()> run) {
    return {.operations = calls(),
            .prepare = [this] { result = -1; },
            .run = std::move(run),
            .check =
                [this] {
                  if (result == number(index)) return std::string{};
                  return "found " + std::to_string(result) + " instead of " + std::to_string(number(index));
                }};
  }

  const std::int64_t& index;
  const std::string& shape;
  std::int64_t result = -1;

 private:
  [[nodiscard]] static std::int64_t number(std::int64_t n) {
    std::int64_t now = 0;
    std::int64_t next = 1;
    for (std::int64_t i = 0; i < n; ++i) now = std::exchange(next, now + next);
    return now;
  }
  [[nodiscard]] std::int64_t calls() const { return 2 * number(index + 1) - 1; }
};

}  // namespace bench
