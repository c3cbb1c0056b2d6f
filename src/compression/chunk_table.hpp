// Chunks that are being compressed, by what they are made of. A result is looked up by what is to be compressed, byte for byte, so it cannot be
// wrong. It can be missing; then the thread that asks compresses the chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "compression/chunk.hpp"

namespace dovetail::compression {

/// Not thread-safe.
class ChunkTable {
 public:
  bool empty() const noexcept { return chunks_.empty(); }
  /// `owner` stands for the array. Its chunk at the same place is overwritten, and given up.
  void add(const void* owner, std::shared_ptr<Chunk> chunk);
  /// The compressed chunk that was made of `source`; null: there is none. It is in the table no longer.
  std::shared_ptr<Chunk> take(std::span<const std::byte> source, unsigned level);
  void drop(const void* owner) noexcept;
  void drop_all() noexcept;
  /// Called before a chunk is looked for, when the memory of the one before is free; nothing for none.
  void before_each(std::function<void()> call) { before_each_ = std::move(call); }

 private:
  using Place = std::pair<const void*, Coordinates>;
  struct Entry {
    Place place;
    std::shared_ptr<Chunk> chunk;
  };
  // Equal ones are in the order of the program.
  using Chunks = std::multimap<std::uint64_t, Entry>;

  Chunks chunks_;
  std::map<Place, Chunks::iterator> places_;
  std::function<void()> before_each_;
};

}  // namespace dovetail::compression
