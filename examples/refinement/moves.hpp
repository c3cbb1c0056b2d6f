/// @file
/// What one rank does with pieces when the tree changes: which stay, which come and which go. So ranks have equal shares of the new tree, too.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "field.hpp"
#include "pieces.hpp"
#include "tree.hpp"

namespace refinement {

/// A piece that comes from another rank or goes to one.
struct PieceMessage {
  Piece piece;
  int rank = 0;  ///< The other one.
  int tag = 0;   ///< Its number among those from the one rank to the other, from 0: both count alike.
};

/// Constant: may be used by several threads.
class Moves {
 public:
  Moves(const Tree& before, const Tree& after, int rank, int ranks);
  /// Pieces that stay in this rank.
  std::span<const Piece> stays() const noexcept { return stays_; }
  std::span<const PieceMessage> arrivals() const noexcept { return arrivals_; }
  std::span<const PieceMessage> departures() const noexcept { return departures_; }

  /// Takes a piece of the old field of this rank, as it is before `stage`.
  void take(Field& from, int stage, const Piece& piece, std::span<double> values) const noexcept;
  /// Puts a piece into the new field of this rank, as it is before stage 0.
  void put(Field& to, const Piece& piece, std::span<const double> values) const noexcept;

 private:
  std::size_t first_before_;
  std::size_t first_after_;
  std::vector<Piece> stays_;
  std::vector<PieceMessage> arrivals_;
  std::vector<PieceMessage> departures_;
};

/// Memory for each of several pieces.
std::vector<std::vector<double>> piece_buffers(std::span<const PieceMessage> messages, const Shape& shape);

}  // namespace refinement
