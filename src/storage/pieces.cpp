#include "storage/pieces.hpp"

#include <algorithm>
#include <cstdint>

#include "storage/bounce.hpp"

namespace dovetail::storage {
namespace {

// Makes the request begin `skip` bytes into the buffers of its operation.
void begin_at(Request& request, const Operation& operation, std::uint64_t skip) noexcept {
  if (!vectored(operation.kind)) {
    request.data = operation.data + skip;
    return;
  }
  request.vectors = operation.vectors.data();
  while (skip > 0 && skip >= request.vectors->iov_len) {
    skip -= request.vectors->iov_len;
    ++request.vectors;
  }
  request.within_vector = skip;
}

bool vectors_aligned(const Request& request, std::uint64_t bytes, std::uint64_t memory, std::uint64_t block) noexcept {
  std::uint64_t left = bytes;
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

std::uint64_t bytes_to_page(std::uint64_t offset, std::uint64_t alignment) noexcept {
  return (alignment - offset % alignment) % alignment;
}

// Divides the direct piece into shares if it is long and the memory of the operation does not suit a direct transfer.
void share_out(Pieces& pieces, const OpenFile& file, const Operation& operation) noexcept {
  Piece* const end = pieces.piece.data() + pieces.count;
  Piece* const direct = std::find_if(pieces.piece.data(), end, [](const Piece& piece) { return piece.direct; });
  if (direct == end || direct->length < 2 * BounceBuffer::size || !needs_bounce(file, operation, *direct)) {
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

}  // namespace

Pieces pieces_of(OpenFile& file, const Operation& operation) noexcept {
  const Pieces whole = {{Piece{0, operation.length, true}}, 1};
  Pieces pieces = cut(operation.offset, operation.length, file.alignment());
  if ((pieces.count > 1 || !pieces.piece[0].direct) && file.cached_descriptor() < 0) {
    pieces = whole;  // the system says what it thinks of it
  }
  share_out(pieces, file, operation);
  // In ascending order: no error may leave a file that is longer than what was written. A durable one, so that it is synced once.
  const bool in_order = pieces.count > 1 && writes(operation.kind) &&
                        (operation.durable || file.grows_by_writing_up_to(operation.offset + operation.length));
  return in_order ? whole : pieces;
}

bool holds_whole_page(std::uint64_t offset, std::uint64_t length, std::uint64_t alignment) noexcept {
  const std::uint64_t head = bytes_to_page(offset, alignment);
  return head < length && length - head >= alignment;
}

Pieces cut(std::uint64_t offset, std::uint64_t length, std::uint64_t alignment) noexcept {
  Pieces pieces;
  const auto add = [&pieces](std::uint64_t begin, std::uint64_t bytes, bool direct) {
    if (bytes > 0) {
      pieces.piece[pieces.count++] = {begin, bytes, direct};
    }
  };
  if (!holds_whole_page(offset, length, alignment)) {
    add(0, length, false);
    return pieces;
  }
  const std::uint64_t head = bytes_to_page(offset, alignment);
  const std::uint64_t middle = (length - head) / alignment * alignment;
  add(0, head, false);
  add(head, middle, true);
  add(head + middle, length - head - middle, false);
  return pieces;
}

bool needs_bounce(const OpenFile& file, const Operation& operation, const Piece& piece) noexcept {
  if (!piece.direct) {
    return false;
  }
  const std::uint64_t alignment = file.alignment();
  const std::uint64_t head = std::min(bytes_to_page(operation.offset + piece.begin, alignment), piece.length);
  Request pages;
  begin_at(pages, operation, piece.begin + head);
  if (!vectored(operation.kind)) {
    return reinterpret_cast<std::uintptr_t>(pages.data) % file.memory_alignment() != 0;
  }
  const std::uint64_t bytes = (piece.length - head) / alignment * alignment;
  return !vectors_aligned(pages, bytes, file.memory_alignment(), file.block_size());
}

void set_up(DirectRequest& request, OpenFile& file, const Operation& operation, const Piece& piece) noexcept {
  request.file = &file;
  request.kind = operation.kind;
  request.durable = operation.durable;
  request.offset = operation.offset + piece.begin;
  request.remaining = piece.length;
  request.descriptor = piece.direct ? file.direct_descriptor() : file.cached_descriptor();
  request.adaptor = piece.direct ? &direct_adaptor() : nullptr;
  request.lane = lane_of(operation.kind, piece.direct, piece.length);
  request.urgency = file.urgency();
  begin_at(request, operation, piece.begin);
}

Outcome combine(const DirectRequest* requests, unsigned count, const Operation& operation) noexcept {
  Outcome outcome;
  for (unsigned i = 0; i < count; ++i) {
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
