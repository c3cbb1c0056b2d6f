/// @file
/// The values of one rank's blocks, and the arithmetic with them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tree.hpp"

namespace refinement {

/// What each block has, whatever its level: `variables` values in each of edge x edge x edge cells. In memory all cells of the first variable come
/// first, and x varies fastest.
struct Shape {
  static constexpr std::size_t longest_edge = 32;

  std::size_t edge = 8;  ///< Even.
  std::size_t variables = 4;

  std::size_t cells() const noexcept { return edge * edge * edge; }
  std::size_t cells_of_side() const noexcept { return edge * edge; }
  std::size_t values() const noexcept { return variables * cells(); }
  /// From a cell to the next one along an axis.
  std::size_t stride(std::size_t axis) const noexcept { return axis == 0 ? 1 : (axis == 1 ? edge : edge * edge); }
};

/// Of one variable, the cells that surround a block: one layer beyond each side, the lower axis along it varying fastest.
class Surroundings {
 public:
  std::span<double> beyond(Side side, const Shape& shape) noexcept {
    return std::span<double>(cells_[static_cast<std::size_t>(side)]).first(shape.cells_of_side());
  }
  const double* beyond(Side side) const noexcept { return cells_[static_cast<std::size_t>(side)].data(); }

 private:
  // Not cleared: all that is read has been written before.
  std::array<std::array<double, Shape::longest_edge * Shape::longest_edge>, 6> cells_;
};

/// Blocks, each with its values at an even stage and at an odd one: a stage reads the ones and writes the others. Different blocks may be used by
/// different threads at the same time.
class Field {
 public:
  Field(const Shape& shape, std::size_t blocks)
      : shape_(shape), blocks_(blocks), values_(2 * blocks * shape.values()), sums_(blocks * shape.variables) {}

  const Shape& shape() const noexcept { return shape_; }
  std::size_t blocks() const noexcept { return blocks_; }
  /// The values of a block before a stage. `block` is counted from 0 within the rank.
  std::span<double> before(int stage, std::size_t block) noexcept {
    return std::span<double>(values_).subspan((2 * block + static_cast<std::size_t>(stage) % 2) * shape_.values(),
                                              shape_.values());
  }
  /// The values after it, which are those before the next.
  std::span<double> after(int stage, std::size_t block) noexcept { return before(stage + 1, block); }
  /// The sums of a block, one for each variable.
  std::span<double> sums(std::size_t block) noexcept {
    return std::span<double>(sums_).subspan(block * shape_.variables, shape_.variables);
  }
  /// Those of all blocks.
  std::span<const double> all_sums() const noexcept { return sums_; }

 private:
  Shape shape_;
  std::size_t blocks_;
  std::vector<double> values_;
  std::vector<double> sums_;
};

/// One variable of a block.
template <class T>
std::span<T> variable_of(std::span<T> values, const Shape& shape, std::size_t variable) noexcept {
  return values.subspan(variable * shape.cells(), shape.cells());
}

/// What a block has at the beginning: numbers from 0 to 1 without any order, which depend on the cube and nothing else.
void fill(std::span<double> values, const Cube& cube) noexcept;
/// One variable of a block after a stage: each cell the mean of itself and the six cells next to it.
void average(std::span<const double> before, const Surroundings& surroundings, const Shape& shape,
             std::span<double> after) noexcept;
/// Adds up each variable of a block, cell after cell, so that the result has one value to the last bit.
void add_up(std::span<const double> values, const Shape& shape, std::span<double> sums) noexcept;

}  // namespace refinement
