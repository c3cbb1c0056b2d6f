#include "kernel.hpp"

namespace heat {

void update_block(Field& field, const Block& block, const Beside& beside) noexcept {
  const Shape& shape = field.shape();
  const bool first_row = block.row == 0 && beside.above == nullptr;
  const bool last_row = block.row + 1 == shape.block_rows() && beside.below == nullptr;
  const bool first_column = block.column == 0;
  const bool last_column = block.column + 1 == shape.block_columns();

  double* const cells = field.cells(block);
  const double* above = nullptr;
  const double* below = nullptr;
  const double* left = nullptr;
  const double* right = nullptr;
  std::size_t left_width = 0;
  std::size_t right_width = 0;
  if (block.row == 0) {
    above = first_row ? nullptr : beside.above + block.column * shape.block;
  } else {
    const Block& neighbour = field.block(block.row - 1, block.column);
    above = field.cells(neighbour) + (neighbour.rows - 1) * neighbour.columns;
  }
  if (block.row + 1 == shape.block_rows()) {
    below = last_row ? nullptr : beside.below + block.column * shape.block;
  } else {
    below = field.cells(field.block(block.row + 1, block.column));
  }
  if (!first_column) {
    const Block& neighbour = field.block(block.row, block.column - 1);
    left_width = neighbour.columns;
    left = field.cells(neighbour) + left_width - 1;
  }
  if (!last_column) {
    const Block& neighbour = field.block(block.row, block.column + 1);
    right_width = neighbour.columns;
    right = field.cells(neighbour);
  }

  const std::size_t width = block.columns;
  const std::size_t row_end = block.rows - (last_row ? 1 : 0);
  for (std::size_t row = first_row ? 1 : 0; row < row_end; ++row) {
    double* const here = cells + row * width;
    const double* const up = row > 0 ? here - width : above;
    const double* const down = row + 1 < block.rows ? here + width : below;
    double previous = first_column ? here[0] : left[row * left_width];
    std::size_t column = first_column ? 1 : 0;
    for (; column + 1 < width; ++column) {
      previous = 0.25 * (up[column] + down[column] + here[column + 1] + previous);
      here[column] = previous;
    }
    if (!last_column && column < width) {
      here[column] = 0.25 * (up[column] + down[column] + right[row * right_width] + previous);
    }
  }
}

void sweep_serially(std::span<double> cells, std::size_t rows, std::size_t columns) noexcept {
  for (std::size_t row = 1; row + 1 < rows; ++row) {
    for (std::size_t column = 1; column + 1 < columns; ++column) {
      const std::size_t here = row * columns + column;
      cells[here] = 0.25 * (cells[here - columns] + cells[here + columns] + cells[here + 1] + cells[here - 1]);
    }
  }
}

}  // namespace heat
