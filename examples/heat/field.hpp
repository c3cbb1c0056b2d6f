/// @file
/// The field of temperatures, cut into blocks. Each block lies in one piece of memory, so that it is one region of a
/// task and one transfer of a checkpoint. The outermost cells are the (constant) border.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aligned_buffer.hpp"

namespace heat {

/// Shape of a field and of its blocks, in cells.
struct Shape {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t block = 0;  ///< Side of a block; blocks at the right and lower end may be smaller.

  std::size_t block_rows() const noexcept { return (rows + block - 1) / block; }
  std::size_t block_columns() const noexcept { return (columns + block - 1) / block; }
  std::size_t blocks() const noexcept { return block_rows() * block_columns(); }
  bool operator==(const Shape&) const = default;
};

/// Where one block is.
struct Block {
  std::size_t row = 0;           ///< Row among the blocks.
  std::size_t column = 0;        ///< Column among the blocks.
  std::size_t rows = 0;          ///< Height in cells.
  std::size_t columns = 0;       ///< Width in cells.
  std::size_t offset = 0;        ///< Bytes from the first block, in memory and in a checkpoint's data alike.
  std::size_t padded_bytes = 0;  ///< Bytes it takes, padding to a page included.
};

/// The places of all blocks, row by row.
std::vector<Block> layout(const Shape& shape);

/// Owns the cells. Which thread may use a block is up to the tasks' accesses.
class Field {
 public:
  /// All cells zero. @throws std::bad_alloc.
  explicit Field(const Shape& shape);

  const Shape& shape() const noexcept { return shape_; }
  std::span<const Block> blocks() const noexcept { return blocks_; }
  const Block& block(std::size_t row, std::size_t column) const noexcept {
    return blocks_[row * shape_.block_columns() + column];
  }
  /// Cells of a block, row by row.
  double* cells(const Block& block) noexcept { return reinterpret_cast<double*>(memory_.data() + block.offset); }
  const double* cells(const Block& block) const noexcept {
    return reinterpret_cast<const double*>(memory_.data() + block.offset);
  }
  /// A block with its padding, which is always zero.
  std::span<std::byte> bytes(const Block& block) noexcept {
    return memory_.bytes().subspan(block.offset, block.padded_bytes);
  }
  std::span<const std::byte> bytes(const Block& block) const noexcept {
    return memory_.bytes().subspan(block.offset, block.padded_bytes);
  }
  /// One cell, for set-up and tests: slow.
  double& at(std::size_t row, std::size_t column) noexcept;

 private:
  Shape shape_;
  std::vector<Block> blocks_;
  AlignedBuffer memory_;
};

}  // namespace heat
