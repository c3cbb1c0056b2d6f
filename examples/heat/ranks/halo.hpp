/// @file
/// The rows of cells next to a rank's part, which other ranks have.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "field.hpp"
#include "kernel.hpp"
#include "ranks.hpp"

namespace heat {

/// A rank's copies of the row above its part and of the one below, in pieces of a block's width. A missing row is null.
class Halo {
 public:
  /// Memory of its own.
  Halo(const Ranks& ranks, const Shape& shape)
      : own_(2 * shape.columns), block_(shape.block), columns_(shape.columns), beside_(place(ranks, own_.data())) {}
  /// In `memory`, of `2 * shape.columns` numbers.
  Halo(const Ranks& ranks, const Shape& shape, double* memory)
      : block_(shape.block), columns_(shape.columns), beside_(place(ranks, memory)) {}
  Halo(const Halo&) = delete;
  Halo& operator=(const Halo&) = delete;

  const Beside& beside() const noexcept { return beside_; }
  /// The cells above and below a block at the part's edge.
  std::span<double> above(const Block& block) const noexcept { return {above_ + block.column * block_, block.columns}; }
  std::span<double> below(const Block& block) const noexcept { return {below_ + block.column * block_, block.columns}; }
  /// Where these cells lie in the memory, in bytes from its begin.
  static std::size_t offset_above(const Shape& shape, const Block& block) noexcept {
    return block.column * shape.block * sizeof(double);
  }
  static std::size_t offset_below(const Shape& shape, const Block& block) noexcept {
    return (shape.columns + block.column * shape.block) * sizeof(double);
  }
  static std::size_t bytes(const Shape& shape) noexcept { return 2 * shape.columns * sizeof(double); }

 private:
  Beside place(const Ranks& ranks, double* memory) {
    above_ = memory;
    below_ = memory + columns_;
    return {ranks.has_above() ? above_ : nullptr, ranks.has_below() ? below_ : nullptr};
  }

  std::vector<double> own_;
  std::size_t block_;
  std::size_t columns_;
  double* above_ = nullptr;
  double* below_ = nullptr;
  Beside beside_;
};

}  // namespace heat
