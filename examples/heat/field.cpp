#include "field.hpp"

#include <algorithm>

namespace heat {

std::vector<Block> layout(const Shape& shape) {
  std::vector<Block> blocks;
  blocks.reserve(shape.blocks());
  std::size_t offset = 0;
  for (std::size_t row = 0; row < shape.block_rows(); ++row) {
    for (std::size_t column = 0; column < shape.block_columns(); ++column) {
      const std::size_t rows = std::min(shape.block, shape.rows - row * shape.block);
      const std::size_t columns = std::min(shape.block, shape.columns - column * shape.block);
      const std::size_t bytes = round_to_page(rows * columns * sizeof(double));
      blocks.push_back({row, column, rows, columns, offset, bytes});
      offset += bytes;
    }
  }
  return blocks;
}

Field::Field(const Shape& shape)
    : shape_(shape), blocks_(layout(shape)), memory_(blocks_.back().offset + blocks_.back().padded_bytes) {}

double& Field::at(std::size_t row, std::size_t column) noexcept {
  const Block& owner = block(row / shape_.block, column / shape_.block);
  return cells(owner)[row % shape_.block * owner.columns + column % shape_.block];
}

}  // namespace heat
