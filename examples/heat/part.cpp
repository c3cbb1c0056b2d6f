#include "part.hpp"

#include <algorithm>

namespace heat {

Part Part::all(const Shape& whole) noexcept { return {whole, 0, whole.block_rows()}; }

Part Part::of_rank(const Shape& whole, std::size_t rank, std::size_t ranks) noexcept {
  const std::size_t begin = whole.block_rows() * rank / ranks;
  const std::size_t end = whole.block_rows() * (rank + 1) / ranks;
  return {whole, begin, end - begin};
}

Shape Part::shape() const noexcept {
  const std::size_t end = std::min(whole.rows, (first + block_rows) * whole.block);
  return {end - first_row(), whole.columns, whole.block};
}

std::size_t Part::offset() const noexcept {
  // Blocks above a part are all of full height.
  std::size_t bytes_of_a_row = 0;
  for (std::size_t column = 0; column < whole.block_columns(); ++column) {
    const std::size_t width = std::min(whole.block, whole.columns - column * whole.block);
    bytes_of_a_row += round_to_page(whole.block * width * sizeof(double));
  }
  return first * bytes_of_a_row;
}

}  // namespace heat
