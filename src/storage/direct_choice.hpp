// Whether a transfer of a file that is opened `Direct::adaptive` bypasses the page cache. See docs/design/storage.md, "Direct or
// not".
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "storage/kind.hpp"

namespace dovetail::storage {

/// Remembers of each part of a file whether it was read. Thread-safe; approximate under concurrency, and where a file is so
/// large that parts share a place: the choice is about speed, never about bytes.
class DirectChoice {
 public:
  /// Bytes from which a transfer that streams is faster without the page cache.
  static constexpr std::uint64_t least = 256 * 1024;
  /// Bytes of a part.
  static constexpr std::uint64_t part = std::uint64_t{1} << 20;

  /// The way of a transfer that begins now.
  bool direct(Kind kind, std::uint64_t offset, std::uint64_t length) noexcept;

 private:
  static constexpr std::size_t parts = 4096;
  // Bit by bit: was read, or written through the page cache; was read again.
  using Marks = std::array<std::atomic<std::uint64_t>, parts / 64>;
  static bool marked(const Marks& marks, std::uint64_t number) noexcept;
  static void mark(Marks& marks, std::uint64_t number, bool on) noexcept;

  Marks seen_{};
  Marks wanted_{};
};

}  // namespace dovetail::storage
