/// @file
/// What a block must know of the blocks beside it. A face is sent at the coarser resolution of the two blocks: a finer block sends means of its
/// cells, and a finer block that receives uses each value four times. One variable at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "field.hpp"
#include "tree.hpp"

namespace refinement {

/// The cells of block `from` that are next to block `to`. Blocks are counted within the tree.
struct Face {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  Side side = Side::left;              ///< Of `to`, through which they are seen.
  Relation relation = Relation::same;  ///< What `from` is to `to`.
  std::uint8_t quarter =
      0;  ///< Of the side of the larger block, which the smaller one covers; a bit for each axis along it.

  /// Values of one variable.
  std::size_t cells(const Shape& shape) const noexcept {
    return relation == Relation::same ? shape.cells_of_side() : shape.cells_of_side() / 4;
  }
  /// Of all variables.
  std::size_t values(const Shape& shape) const noexcept { return shape.variables * cells(shape); }
};

/// All that a block must know, in an order that is the same on all ranks: by sides, then by quarters.
std::vector<Face> faces_of(const Tree& tree, std::size_t block);

/// Takes a face out of a variable of block `from`. `face` has `Face::cells`.
void take_face(const Face& which, std::span<const double> cells, const Shape& shape, std::span<double> face) noexcept;
/// Puts it where block `to` reads it. `beyond` has the cells beyond the whole side.
void put_face(const Face& which, std::span<const double> face, const Shape& shape, std::span<double> beyond) noexcept;
/// At the border of the domain nothing gets in or out: beyond it is what the block has on this side of it.
void put_border(Side side, std::span<const double> cells, const Shape& shape, std::span<double> beyond) noexcept;

}  // namespace refinement
