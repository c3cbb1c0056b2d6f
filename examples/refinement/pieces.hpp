/// @file
/// What becomes of values when the tree changes: each new block is made of pieces of old blocks, which may be on other ranks. A piece is sent at the
/// coarser resolution of the two blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "field.hpp"
#include "tree.hpp"

namespace refinement {

/// A part of old block `from` that goes to new block `to`. Each is counted within its tree.
struct Piece {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  Relation relation = Relation::same;  ///< What `from` is to `to`.
  std::uint8_t octant = 0;             ///< Of the larger block, which the smaller one is.

  /// Of all variables.
  std::size_t values(const Shape& shape) const noexcept {
    return relation == Relation::same ? shape.values() : shape.values() / 8;
  }
};

/// What a new block is made of: the block itself, one octant of its parent, or all of its 8 children.
std::vector<Piece> pieces_of(const Tree& before, const Tree& after, std::size_t block);

/// Takes a piece out of the values of block `from`. `piece` has `Piece::values`.
void take_piece(const Piece& which, std::span<const double> values, const Shape& shape,
                std::span<double> piece) noexcept;
/// Puts it into those of block `to`.
void put_piece(const Piece& which, std::span<const double> piece, const Shape& shape,
               std::span<double> values) noexcept;

}  // namespace refinement
