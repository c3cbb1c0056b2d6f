// Arrays of which rectangular pieces are compressed, each on its own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <vector>

#include "base/memory_share.hpp"
#include "compression/codec.hpp"

namespace dovetail::compression {

/// In elements, one number for each dimension.
using Coordinates = std::vector<std::uint64_t>;

/// How the chunks of an array are stored.
struct ChunkLayout {
  Coordinates chunk;         ///< Shape of a chunk.
  std::size_t element = 0;   ///< Bytes.
  std::size_t shuffled = 0;  ///< Bytes that are shuffled as one element before they are compressed; 0: none are.
  unsigned level = 0;        ///< Of compression.
  Codec codec;

  std::size_t chunk_bytes() const noexcept {
    return std::accumulate(chunk.begin(), chunk.end(), element,
                           [](std::size_t bytes, std::uint64_t extent) { return bytes * extent; });
  }
};

/// The chunks that a box of an array covers wholly: in each dimension from `first` to in front of `behind`.
struct Covered {
  Coordinates first;
  Coordinates behind;
  std::size_t count = 1;

  Covered(const ChunkLayout& layout, const Coordinates& start, const Coordinates& shape) {
    for (std::size_t i = 0; i < layout.chunk.size(); ++i) {
      first.push_back((start[i] + layout.chunk[i] - 1) / layout.chunk[i]);
      behind.push_back((start[i] + shape[i]) / layout.chunk[i]);
      count *= behind[i] - std::min(first[i], behind[i]);
    }
  }
};

/// The elements of a box, in the order of the array.
struct Box {
  std::shared_ptr<const ChunkLayout> layout;
  Coordinates start;
  Coordinates shape;
  const std::byte* data = nullptr;
  std::unique_ptr<std::byte[]> copy{};  ///< Null: `data` is the program's.
  base::MemoryShare share{};            ///< For the copy.
};

}  // namespace dovetail::compression
