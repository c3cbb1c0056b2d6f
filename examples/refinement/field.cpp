#include "field.hpp"

#include <numeric>

namespace refinement {

void fill(std::span<double> values, const Cube& cube) noexcept {
  std::uint64_t number = cube.code() << 20U;
  for (double& value : values) {
    std::uint64_t x = ++number * 0x9E3779B97F4A7C15U;
    x ^= x >> 32U;
    x *= 0x9E3779B97F4A7C15U;
    x ^= x >> 29U;
    value = static_cast<double>(x >> 11U) * 0x1p-53;
  }
}

void average(std::span<const double> before, const Surroundings& surroundings, const Shape& shape,
             std::span<double> after) noexcept {
  const std::size_t edge = shape.edge;
  const std::size_t layer = shape.cells_of_side();
  const double* const left = surroundings.beyond(Side::left);
  const double* const right = surroundings.beyond(Side::right);
  for (std::size_t z = 0; z < edge; ++z) {
    for (std::size_t y = 0; y < edge; ++y) {
      // The row of cells along x, and those next to it.
      const double* const row = before.data() + z * layer + y * edge;
      const double* const front = y > 0 ? row - edge : surroundings.beyond(Side::front) + z * edge;
      const double* const back = y + 1 < edge ? row + edge : surroundings.beyond(Side::back) + z * edge;
      const double* const bottom = z > 0 ? row - layer : surroundings.beyond(Side::bottom) + y * edge;
      const double* const top = z + 1 < edge ? row + layer : surroundings.beyond(Side::top) + y * edge;
      double* const result = after.data() + z * layer + y * edge;
      const auto cell = [&](std::size_t x, double lower, double upper) {
        result[x] = (row[x] + lower + upper + front[x] + back[x] + bottom[x] + top[x]) / 7;
      };
      cell(0, left[z * edge + y], row[1]);
      for (std::size_t x = 1; x + 1 < edge; ++x) {
        cell(x, row[x - 1], row[x + 1]);
      }
      cell(edge - 1, row[edge - 2], right[z * edge + y]);
    }
  }
}

void add_up(std::span<const double> values, const Shape& shape, std::span<double> sums) noexcept {
  for (std::size_t variable = 0; variable < shape.variables; ++variable) {
    const std::span<const double> cells = variable_of(values, shape, variable);
    sums[variable] = std::accumulate(cells.begin(), cells.end(), 0.0);
  }
}

}  // namespace refinement
