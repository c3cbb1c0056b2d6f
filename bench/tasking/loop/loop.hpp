// The problem: numbers are changed, or summed up, in chunks. An operation is a number. The workers write the numbers before, in the same chunks: what
// is measured does not begin with data in the cache of a thread that is no worker.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "harness/harness.hpp"

namespace bench {

struct Loop {
  explicit Loop(CommandLine& line)
      : way(line.choice("way", {"for", "reduce"}, "change the numbers, or sum them up")),
        count(line.size("count", 1 << 22, "numbers")),
        chunk(line.size("chunk", 256, "numbers of a piece")) {}

  /// `fill`, `change` and `sum_up` run the functions below on all chunks, by the workers.
  [[nodiscard]] Problem timed(std::function<void()> fill, std::function<void()> change,
                              std::function<double()> sum_up) {
    return {.operations = count,
            .prepare =
                [this, fill = std::move(fill)] {
                  if (numbers == nullptr) {
                    numbers = std::make_unique_for_overwrite<double[]>(length());  // untouched
                  }
                  fill();
                  sum = 0;
                },
            .run = way == "for" ? std::move(change) : [this, sum_up = std::move(sum_up)] { sum = sum_up(); },
            .check =
                [this] {
                  std::int64_t wrong = 0;
                  for (std::size_t i = 0; i < length(); ++i) wrong += numbers[i] != (way == "for" ? 3.0 : 1.0) ? 1 : 0;
                  if (way == "reduce" && sum != static_cast<double>(count)) ++wrong;
                  return wrong == 0 ? std::string{} : std::to_string(wrong) + " numbers are wrong";
                }};
  }
  void write_first(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) numbers[i] = 1;
  }
  void change(std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) numbers[i] = numbers[i] * 2 + 1;
  }
  [[nodiscard]] double sum_of(std::size_t begin, std::size_t end) const {
    double part = 0;
    for (std::size_t i = begin; i < end; ++i) part += numbers[i];
    return part;
  }
  [[nodiscard]] std::size_t length() const { return static_cast<std::size_t>(count); }
  [[nodiscard]] std::size_t piece() const { return static_cast<std::size_t>(chunk); }

  const std::string& way;
  const std::int64_t& count;
  const std::int64_t& chunk;
  std::unique_ptr<double[]> numbers;
  double sum = 0;
};

}  // namespace bench
