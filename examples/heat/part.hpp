/// @file
/// The rows of blocks that one process has. A process that is alone has them all.
#pragma once

#include <cstddef>
#include <functional>

#include "field.hpp"

namespace heat {

/// Consecutive rows of blocks of a field.
struct Part {
  Shape whole;                 ///< The field that it is a part of.
  std::size_t first = 0;       ///< Its first row of blocks.
  std::size_t block_rows = 0;  ///< How many it has; not 0.

  /// The field as one part.
  static Part all(const Shape& whole) noexcept;
  /// The part of one of `ranks` ranks, which have as many rows of blocks as possible alike. `ranks` is at most `whole.block_rows()`.
  static Part of_rank(const Shape& whole, std::size_t rank, std::size_t ranks) noexcept;

  /// Its own shape: a field of this shape has the part's blocks in the order and at the distances that they have in the whole.
  Shape shape() const noexcept;
  /// The row of its first cells.
  std::size_t first_row() const noexcept { return first * whole.block; }
  /// The place of its first block among those of the whole.
  std::size_t first_block() const noexcept { return first * whole.block_columns(); }
  /// How many blocks it has.
  std::size_t blocks() const noexcept { return block_rows * whole.block_columns(); }
  /// Bytes from the first block of the whole to its first one, in a checkpoint's data.
  std::size_t offset() const noexcept;
};

/// Says which part of a field a process has.
using PartOf = std::function<Part(const Shape&)>;

}  // namespace heat
