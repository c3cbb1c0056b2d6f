#include "faces.hpp"

#include <algorithm>

namespace refinement {
namespace {

// The outermost layer of cells at a side of a block, or a square part of it.
struct Layer {
  Layer(Side side, const double* cells, const Shape& shape)
      : first(cells + (is_upper(side) ? (shape.edge - 1) * shape.stride(axis_of(side)) : 0)),
        along(shape.stride(axes_along(side)[0])),
        across(shape.stride(axes_along(side)[1])) {}
  double at(std::size_t u, std::size_t v) const noexcept { return first[u * along + v * across]; }

  const double* first;
  std::size_t along;
  std::size_t across;
};

// Where a quarter of a side begins, in cells along the two axes.
struct Quarter {
  Quarter(unsigned number, const Shape& shape)
      : u((number & 1U) * shape.edge / 2), v((number >> 1U) * shape.edge / 2) {}
  std::size_t u;
  std::size_t v;
};

}  // namespace

std::vector<Face> faces_of(const Tree& tree, std::size_t block) {
  std::vector<Face> found;
  for (const Side side : all_sides) {
    const Neighbours others = tree.beside(block, side);
    for (std::uint8_t i = 0; i < others.count; ++i) {
      Face face{others.blocks[i], static_cast<std::uint32_t>(block), side, others.relation, i};
      if (others.relation == Relation::coarser) {
        const Cube& cube = tree.cube(block);
        const auto [u, v] = axes_along(side);
        face.quarter = static_cast<std::uint8_t>((cube.at[u] & 1U) | (cube.at[v] & 1U) << 1U);
      }
      found.push_back(face);
    }
  }
  return found;
}

void take_face(const Face& which, std::span<const double> cells, const Shape& shape, std::span<double> face) noexcept {
  const Layer layer(opposite(which.side), cells.data(), shape);
  const std::size_t edge = which.relation == Relation::same ? shape.edge : shape.edge / 2;
  const Quarter begin(which.relation == Relation::coarser ? which.quarter : 0, shape);
  for (std::size_t v = 0; v < edge; ++v) {
    for (std::size_t u = 0; u < edge; ++u) {
      face[v * edge + u] = which.relation == Relation::finer
                               ? (layer.at(2 * u, 2 * v) + layer.at(2 * u + 1, 2 * v) + layer.at(2 * u, 2 * v + 1) +
                                  layer.at(2 * u + 1, 2 * v + 1)) /
                                     4
                               : layer.at(begin.u + u, begin.v + v);
    }
  }
}

void put_face(const Face& which, std::span<const double> face, const Shape& shape, std::span<double> beyond) noexcept {
  const std::size_t edge = shape.edge;
  const std::size_t half = edge / 2;
  switch (which.relation) {
    case Relation::same:
      std::ranges::copy(face, beyond.begin());
      return;
    case Relation::coarser:
      for (std::size_t v = 0; v < edge; ++v) {
        for (std::size_t u = 0; u < edge; ++u) {
          beyond[v * edge + u] = face[v / 2 * half + u / 2];
        }
      }
      return;
    case Relation::finer: {
      const Quarter begin(which.quarter, shape);
      for (std::size_t v = 0; v < half; ++v) {
        for (std::size_t u = 0; u < half; ++u) {
          beyond[(begin.v + v) * edge + begin.u + u] = face[v * half + u];
        }
      }
      return;
    }
  }
}

void put_border(Side side, std::span<const double> cells, const Shape& shape, std::span<double> beyond) noexcept {
  const Layer layer(side, cells.data(), shape);
  for (std::size_t v = 0; v < shape.edge; ++v) {
    for (std::size_t u = 0; u < shape.edge; ++u) {
      beyond[v * shape.edge + u] = layer.at(u, v);
    }
  }
}

}  // namespace refinement
