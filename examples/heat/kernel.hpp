/// @file
/// The arithmetic: one Gauss-Seidel sweep of the five-point Laplace stencil, in place.
#pragma once

#include <cstddef>
#include <span>

#include "field.hpp"

namespace heat {

/// The rows of cells next to a field that is a part of a plate, from its first column to its last.
struct Beside {
  const double* above = nullptr;  ///< Null: the field's first row is the border of the plate.
  const double* below = nullptr;  ///< Null: its last row is.
};

/// Updates the inner cells of one block from its cells and the adjacent cells of its four neighbours. The blocks above
/// and to the left must have been updated in this sweep, those below and to the right must not.
void update_block(Field& field, const Block& block, const Beside& beside = {}) noexcept;

/// One sweep over a whole row-major field without any blocks. What `update_block` must reproduce to the last bit.
void sweep_serially(std::span<double> cells, std::size_t rows, std::size_t columns) noexcept;

}  // namespace heat
