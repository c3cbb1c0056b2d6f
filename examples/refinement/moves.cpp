#include "moves.hpp"

namespace refinement {

Moves::Moves(const Tree& before, const Tree& after, int rank, int ranks) {
  const Shares old_shares(before.size(), ranks);
  const Shares new_shares(after.size(), ranks);
  first_before_ = old_shares.first(rank);
  first_after_ = new_shares.first(rank);
  std::vector<int> coming(static_cast<std::size_t>(ranks), 0);
  std::vector<int> going(static_cast<std::size_t>(ranks), 0);
  for (std::size_t block = 0; block < after.size(); ++block) {
    const int to = new_shares.owner(block);
    for (const Piece& piece : pieces_of(before, after, block)) {
      const int from = old_shares.owner(piece.from);
      if (from == rank && to == rank) {
        stays_.push_back(piece);
      } else if (to == rank) {
        arrivals_.push_back({piece, from, coming[static_cast<std::size_t>(from)]++});
      } else if (from == rank) {
        departures_.push_back({piece, to, going[static_cast<std::size_t>(to)]++});
      }
    }
  }
}

void Moves::take(Field& from, int stage, const Piece& piece, std::span<double> values) const noexcept {
  take_piece(piece, from.before(stage, piece.from - first_before_), from.shape(), values);
}

void Moves::put(Field& to, const Piece& piece, std::span<const double> values) const noexcept {
  put_piece(piece, values, to.shape(), to.before(0, piece.to - first_after_));
}

std::vector<std::vector<double>> piece_buffers(std::span<const PieceMessage> messages, const Shape& shape) {
  std::vector<std::vector<double>> buffers;
  for (const PieceMessage& message : messages) {
    buffers.emplace_back(message.piece.values(shape));
  }
  return buffers;
}

}  // namespace refinement
