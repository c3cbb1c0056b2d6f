// The problem: a square of cells, each the sum of the cell above and the cell to the left, one task a cell.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/harness.hpp"

namespace bench {

inline constexpr std::int64_t default_wavefront_side = 1000;

class Wavefront {
 public:
  using Cell = std::uint64_t;

  explicit Wavefront(std::int64_t side) : side_(side), stride_(side + 1), cells_(stride_ * stride_) { reset(); }

  /// Row 0 and column 0 are a border of ones that no task writes; tasks own rows and columns 1 to `side`.
  [[nodiscard]] Cell& cell(std::int64_t row, std::int64_t column) noexcept {
    return cells_[static_cast<std::size_t>(row * stride_ + column)];
  }

  static void compute(Cell& cell, const Cell& up, const Cell& left) noexcept { cell += up + left; }

  [[nodiscard]] Problem timed(std::function<void()> run) {
    return {.operations = side_ * side_,
            .prepare = [this] { reset(); },
            .run = std::move(run),
            .check =
                [this] {
                  const Cell expected = expected_corner();
                  const Cell found = cell(side_, side_);
                  if (found == expected) return std::string{};
                  return "the last cell is " + std::to_string(found) + " instead of " + std::to_string(expected);
                }};
  }

 private:
  void reset() {
    for (std::int64_t row = 0; row <= side_; ++row) {
      for (std::int64_t column = 0; column <= side_; ++column) cell(row, column) = row == 0 || column == 0 ? 1 : 0;
    }
  }

  // By rows, in a row of its own, so that nothing of the measured run can leak into it.
  [[nodiscard]] Cell expected_corner() const {
    std::vector<Cell> row(static_cast<std::size_t>(side_ + 1), 1);
    for (std::int64_t step = 0; step < side_; ++step) {
      for (std::size_t column = 1; column < row.size(); ++column) row[column] += row[column - 1];
    }
    return row.back();
  }

  std::int64_t side_;
  std::int64_t stride_;
  std::vector<Cell> cells_;
};

}  // namespace bench
