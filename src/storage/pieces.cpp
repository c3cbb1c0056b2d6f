#include "storage/pieces.hpp"

#include <algorithm>
#include <cstdint>

#include "storage/bounce.hpp"

namespace dovetail::storage {
namespace {

bool vectors_aligned(const Request& request, std::uint64_t memory, std::uint64_t block) noexcept {
  std::uint64_t left = request.remaining;
  std::uint64_t within = request.within_vector;
  for (const iovec* vector = request.vectors; left > 0; ++vector, within = 0) {
    const std::uint64_t length = std::min<std::uint64_t>(vector->iov_len - within, left);
    if ((reinterpret_cast<std::uintptr_t>(vector->iov_base) + within) % memory != 0 || length % block != 0) {
      return false;
    }
    left -= length;
  }
  return true;
}

}  // namespace

Pieces cut(std::uint64_t offset, std::uint64_t length, std::uint64_t alignment) noexcept {
  Pieces pieces;
  const auto add = [&pieces](std::uint64_t begin, std::uint64_t bytes, bool direct) {
    if (bytes > 0) {
      pieces.piece[pieces.count++] = {begin, bytes, direct};
    }
  };
  const std::uint64_t head = (alignment - offset % alignment) % alignment;
  if (head >= length || length - head < alignment) {
    add(0, length, false);
    return pieces;
  }
  const std::uint64_t middle = (length - head) / alignment * alignment;
  add(0, head, false);
  add(head, middle, true);
  add(head + middle, length - head - middle, false);
  return pieces;
}

void share_out(Pieces& pieces, OpenFile& file, const Operation& operation) noexcept {
  Piece* const end = pieces.piece.data() + pieces.count;
  Piece* const direct = std::find_if(pieces.piece.data(), end, [](const Piece& piece) { return piece.direct; });
  if (operation.durable || direct == end || direct->length < 2 * BounceBuffer::size) {
    return;
  }
  Request probe;
  bool needs_bounce = false;
  set_up(probe, file, operation, *direct, needs_bounce);
  if (!needs_bounce) {
    return;
  }
  // Whole buffers, so that only the last share has a short one.
  const std::uint64_t buffers = (direct->length + BounceBuffer::size - 1) / BounceBuffer::size;
  const std::uint64_t share = (buffers + most_shares - 1) / most_shares * BounceBuffer::size;
  const auto more = static_cast<unsigned>((direct->length + share - 1) / share) - 1;
  std::move_backward(direct + 1, end, end + more);
  pieces.count += more;
  const Piece whole = *direct;
  for (unsigned i = 0; i <= more; ++i) {
    direct[i] = {whole.begin + i * share, std::min(share, whole.length - i * share), true};
  }
}

void set_up(Request& request, OpenFile& file, const Operation& operation, const Piece& piece,
            bool& needs_bounce) noexcept {
  request.file = &file;
  request.kind = operation.kind;
  request.descriptor = piece.direct ? file.direct_descriptor() : file.cached_descriptor();
  request.offset = operation.offset + piece.begin;
  request.lane = lane_of(operation.kind, piece.direct, piece.length);
  if (operation.kind == Kind::fallocate) {
    request.length = operation.length;
    request.mode = operation.mode;
  }
  if (!transfers(operation.kind)) {
    request.offset = operation.offset;
    request.descriptor = file.descriptor();
    return;
  }
  request.remaining = piece.length;
  request.durable = operation.durable;
  if (vectored(operation.kind)) {
    request.vectors = operation.vectors.data();
    std::uint64_t skip = piece.begin;
    while (skip > 0 && skip >= request.vectors->iov_len) {
      skip -= request.vectors->iov_len;
      ++request.vectors;
    }
    request.within_vector = skip;
  } else {
    request.data = operation.data + piece.begin;
  }
  request.off_core = !piece.direct && piece.length > most_inline;
  if (piece.direct) {
    needs_bounce = vectored(operation.kind)
                       ? !vectors_aligned(request, file.memory_alignment(), file.block_size())
                       : reinterpret_cast<std::uintptr_t>(request.data) % file.memory_alignment() != 0;
  }
}

Outcome combine(const Request* requests, const Pieces& pieces, const Operation& operation) noexcept {
  Outcome outcome;
  for (unsigned i = 0; i < pieces.count; ++i) {
    outcome.bytes += requests[i].transferred;
    if (requests[i].error != 0) {
      outcome.error = requests[i].error;
      outcome.kind = requests[i].kind;
      break;
    }
    if (requests[i].remaining > 0) {
      break;  // the file ends here; what later pieces read is not connected to it
    }
  }
  outcome.offset = operation.offset + outcome.bytes;
  outcome.left = operation.length - outcome.bytes;
  return outcome;
}

}  // namespace dovetail::storage
