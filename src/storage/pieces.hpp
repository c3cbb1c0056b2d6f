// How an operation on a direct file becomes several requests. Whole pages are transferred directly; the bytes before the first and
// after the last whole page go through the page cache. Requests of one operation are under way side by side and end in any order. So
// a write that would make its file longer stays one request. That does the same step by step (direct_request.hpp).
#pragma once

#include <array>
#include <cstdint>

#include "storage/direct_request.hpp"
#include "storage/open_file.hpp"
#include "storage/operation.hpp"

namespace dovetail::storage {

/// A part of an operation that one request does.
struct Piece {
  std::uint64_t begin = 0;  ///< Relative to the operation.
  std::uint64_t length = 0;
  bool direct = false;
};

/// Parts that one direct piece is divided into where it has to go through aligned memory. Each has a buffer of its own, so the
/// device has several to do while one is copied.
inline constexpr unsigned most_shares = 8;
/// Head and tail, and what is between them.
inline constexpr unsigned most_pieces = 2 + most_shares;

struct Pieces {
  std::array<Piece, most_pieces> piece{};
  unsigned count = 0;
};

/// What the requests of a transfer do.
Pieces pieces_of(OpenFile& file, const Operation& operation) noexcept;

/// Whether `[offset, offset + length)` holds a whole multiple of `alignment`.
bool holds_whole_page(std::uint64_t offset, std::uint64_t length, std::uint64_t alignment) noexcept;

/// Cuts `[offset, offset + length)` at multiples of `alignment`.
Pieces cut(std::uint64_t offset, std::uint64_t length, std::uint64_t alignment) noexcept;

/// Whether the program's memory of that piece does not suit a direct transfer.
bool needs_bounce(const OpenFile& file, const Operation& operation, const Piece& piece) noexcept;

/// Fills in the request for one piece, but for what happens at its end.
void set_up(DirectRequest& request, OpenFile& file, const Operation& operation, const Piece& piece) noexcept;

/// Puts the results of the pieces together, in the order of the file.
Outcome combine(const DirectRequest* requests, unsigned count, const Operation& operation) noexcept;

}  // namespace dovetail::storage
