#include "compression/chunk_table.hpp"

#include <algorithm>
#include <utility>

namespace dovetail::compression {

void ChunkTable::add(const void* owner, std::shared_ptr<Chunk> chunk) {
  const Place place(owner, chunk->number());
  const auto [known, is_new] = places_.try_emplace(place, chunks_.end());
  if (!is_new) {
    known->second->second.chunk->give_up();
    chunks_.erase(known->second);
  }
  const std::uint64_t key = chunk->key();
  known->second = chunks_.emplace(key, Entry{place, std::move(chunk)});
}

std::shared_ptr<Chunk> ChunkTable::take(std::span<const std::byte> source, unsigned level) {
  if (before_each_) {
    before_each_();
  }
  const auto [first, last] = chunks_.equal_range(key_of(source, level));
  const auto found =
      std::find_if(first, last, [&](const auto& entry) { return entry.second.chunk->is_made_of(source); });
  if (found == last) {
    return nullptr;
  }
  std::shared_ptr<Chunk> chunk = std::move(found->second.chunk);
  places_.erase(found->second.place);
  chunks_.erase(found);
  return chunk;
}

void ChunkTable::drop(const void* owner) noexcept {
  const auto first = places_.lower_bound({owner, {}});
  auto last = first;
  for (; last != places_.end() && last->first.first == owner; ++last) {
    last->second->second.chunk->give_up();
    chunks_.erase(last->second);
  }
  places_.erase(first, last);
}

void ChunkTable::drop_all() noexcept {
  for (const auto& [key, entry] : chunks_) {
    entry.chunk->give_up();
  }
  places_.clear();
  chunks_.clear();
}

}  // namespace dovetail::compression
