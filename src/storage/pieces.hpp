// How one operation becomes several requests: a direct file transfers whole pages directly, and the bytes before the first and
// after the last whole page through the page cache. Requests of one operation are under way side by side and end in any order, so
// a write that would make its file longer stays one request, which does the same step by step, in ascending order.
#pragma once

#include <array>
#include <cstdint>

#include "storage/open_file.hpp"
#include "storage/operation.hpp"
#include "storage/request.hpp"

namespace dovetail::storage {

/// Bytes that a core may copy by itself: it takes well under 50 microseconds.
inline constexpr std::uint64_t most_inline = 128 * 1024;

/// A part of an operation that one descriptor can do.
struct Piece {
  std::uint64_t begin = 0;  ///< Relative to the operation.
  std::uint64_t length = 0;
  bool direct = false;
};

/// Parts that one direct piece is divided into where it has to go through aligned memory: each has a buffer of its own, so that
/// the device has several to do while one is copied.
inline constexpr unsigned most_shares = 8;
/// Head and tail, and what is between them.
inline constexpr unsigned most_pieces = 2 + most_shares;

struct Pieces {
  std::array<Piece, most_pieces> piece{};
  unsigned count = 0;
};

/// What the requests of an operation do.
Pieces pieces_of(OpenFile& file, const Operation& operation) noexcept;

/// Cuts `[offset, offset + length)` at multiples of `alignment`.
Pieces cut(std::uint64_t offset, std::uint64_t length, std::uint64_t alignment) noexcept;

/// Divides the direct piece of `pieces` into shares if it is long and the memory of the operation does not suit a direct transfer.
void share_out(Pieces& pieces, OpenFile& file, const Operation& operation) noexcept;

/// Fills in the request for one piece of an operation. Does not touch `ended`.
/// @param needs_bounce Set if the program's memory does not suit a direct transfer.
void set_up(Request& request, OpenFile& file, const Operation& operation, const Piece& piece,
            bool& needs_bounce) noexcept;

/// Puts the pieces' results together, in the order of the file.
Outcome combine(const Request* requests, const Pieces& pieces, const Operation& operation) noexcept;

}  // namespace dovetail::storage
