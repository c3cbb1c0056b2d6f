#include "pieces.hpp"

#include <algorithm>

namespace refinement {
namespace {

// Calls `visit(number, x, y, z)` for the cells of an octant of each variable: `number` among them, the place of the cell in the octant.
template <class Visit>
void for_octant(const Shape& shape, const Visit& visit) {
  const std::size_t half = shape.edge / 2;
  std::size_t number = 0;
  for (std::size_t variable = 0; variable < shape.variables; ++variable) {
    for (std::size_t z = 0; z < half; ++z) {
      for (std::size_t y = 0; y < half; ++y) {
        for (std::size_t x = 0; x < half; ++x) {
          visit(number++, variable * shape.cells() + z * shape.stride(2) + y * shape.stride(1) + x, x, y, z);
        }
      }
    }
  }
}

// From the first cell of a block to the first one of an octant.
std::size_t begin_of(unsigned octant, const Shape& shape) {
  return shape.edge / 2 *
         ((octant & 1U) + (octant >> 1U & 1U) * shape.stride(1) + (octant >> 2U & 1U) * shape.stride(2));
}

// Calls `visit(number, first)` for the cells of a coarser block that covers the same place: `first` is that of its 8 cells in the finer one.
template <class Visit>
void for_eights(const Shape& shape, const Visit& visit) {
  for_octant(shape, [&](std::size_t number, std::size_t cell, std::size_t x, std::size_t y, std::size_t z) {
    visit(number, cell + z * shape.stride(2) + y * shape.stride(1) + x);
  });
}

}  // namespace

std::vector<Piece> pieces_of(const Tree& before, const Tree& after, std::size_t block) {
  const Cube& cube = after.cube(block);
  const auto to = static_cast<std::uint32_t>(block);
  if (const auto same = before.find(cube)) {
    return {{*same, to, Relation::same, 0}};
  }
  if (const auto parent = cube.level > 0 ? before.find(cube.parent()) : std::nullopt) {
    return {{*parent, to, Relation::coarser, static_cast<std::uint8_t>(cube.octant())}};
  }
  std::vector<Piece> children;
  for (std::uint8_t octant = 0; octant < 8; ++octant) {
    children.push_back({*before.find(cube.child(octant)), to, Relation::finer, octant});
  }
  return children;
}

void take_piece(const Piece& which, std::span<const double> values, const Shape& shape,
                std::span<double> piece) noexcept {
  switch (which.relation) {
    case Relation::same:
      std::ranges::copy(values, piece.begin());
      return;
    case Relation::coarser: {
      const double* const begin = values.data() + begin_of(which.octant, shape);
      for_octant(shape, [&](std::size_t number, std::size_t cell, auto...) { piece[number] = begin[cell]; });
      return;
    }
    case Relation::finer:
      for_eights(shape, [&](std::size_t number, std::size_t first) {
        double sum = 0;
        for (unsigned corner = 0; corner < 8; ++corner) {
          sum += values[first + (corner & 1U) + (corner >> 1U & 1U) * shape.stride(1) +
                        (corner >> 2U & 1U) * shape.stride(2)];
        }
        piece[number] = sum / 8;
      });
      return;
  }
}

void put_piece(const Piece& which, std::span<const double> piece, const Shape& shape,
               std::span<double> values) noexcept {
  switch (which.relation) {
    case Relation::same:
      std::ranges::copy(piece, values.begin());
      return;
    case Relation::coarser:
      for_eights(shape, [&](std::size_t number, std::size_t first) {
        for (unsigned corner = 0; corner < 8; ++corner) {
          values[first + (corner & 1U) + (corner >> 1U & 1U) * shape.stride(1) +
                 (corner >> 2U & 1U) * shape.stride(2)] = piece[number];
        }
      });
      return;
    case Relation::finer: {
      double* const begin = values.data() + begin_of(which.octant, shape);
      for_octant(shape, [&](std::size_t number, std::size_t cell, auto...) { begin[cell] = piece[number]; });
      return;
    }
  }
}

}  // namespace refinement
