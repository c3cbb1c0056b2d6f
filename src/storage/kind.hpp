// What a request does.
#pragma once

#include <cstdint>

#include "device/direction.hpp"

namespace dovetail::storage {

enum class Kind : std::uint8_t { nop, read, write, readv, writev, fsync, fdatasync, fallocate, open, poll };

/// The name of the call in errors and traces.
inline const char* name_of(Kind kind) noexcept {
  static constexpr const char* names[] = {"nop",   "pread",     "pwrite",    "preadv", "pwritev",
                                          "fsync", "fdatasync", "fallocate", "open",   "poll"};
  return names[static_cast<unsigned>(kind)];
}

constexpr bool reads(Kind kind) noexcept { return kind == Kind::read || kind == Kind::readv; }
constexpr bool writes(Kind kind) noexcept { return kind == Kind::write || kind == Kind::writev; }
constexpr bool transfers(Kind kind) noexcept { return reads(kind) || writes(kind); }
/// Of a transfer.
constexpr device::Direction direction_of(Kind kind) noexcept {
  return reads(kind) ? device::Direction::read : device::Direction::write;
}
constexpr bool vectored(Kind kind) noexcept { return kind == Kind::readv || kind == Kind::writev; }

}  // namespace dovetail::storage
