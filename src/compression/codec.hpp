// A library that compresses.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace dovetail::compression {

/// The functions of zlib, or of a library with the same interface. They must be thread-safe.
struct Codec {
  int (*compress)(unsigned char* target, unsigned long* target_bytes, const unsigned char* source,
                  unsigned long source_bytes, int level) = nullptr;  ///< `compress2`.
  unsigned long (*bound)(unsigned long source_bytes) = nullptr;      ///< `compressBound`.

  /// None: the library has no memory.
  std::optional<std::vector<std::byte>> compressed(std::span<const std::byte> source, unsigned level) const {
    unsigned long bytes = bound(source.size());
    std::vector<std::byte> made(bytes);
    constexpr int done = 0;  // Z_OK
    if (compress(reinterpret_cast<unsigned char*>(made.data()), &bytes,
                 reinterpret_cast<const unsigned char*>(source.data()), source.size(),
                 static_cast<int>(level)) != done) {
      return std::nullopt;
    }
    made.resize(bytes);
    made.shrink_to_fit();
    return made;
  }
};

}  // namespace dovetail::compression
