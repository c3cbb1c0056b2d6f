#include "compression/chunk_table.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

namespace dovetail::hdf5 {
namespace {

// Bytes by which chunks are told apart without being compared.
constexpr std::size_t samples = 64;

std::uint64_t mixed(std::uint64_t key, std::uint64_t value) {
  constexpr std::uint64_t prime = 0x100000001b3;  // FNV-1a
  return (key ^ value) * prime;
}

/// The key of a chunk of `bytes` bytes as deflate is given it; `at(i)` is its byte i.
template <class At>
std::uint64_t key_of(std::size_t bytes, unsigned level, At at) {
  constexpr std::uint64_t basis = 0xcbf29ce484222325;
  std::uint64_t key = mixed(mixed(basis, bytes), level);
  for (std::size_t i = 0; i < samples; ++i) {
    key = mixed(key, std::to_integer<std::uint64_t>(at(bytes / samples * i + i * (bytes % samples) / samples)));
  }
  return key;
}

// Where the shuffle filter takes byte `i` of its result from.
std::size_t before_shuffle(std::size_t i, std::size_t bytes, std::size_t element) {
  const std::size_t count = element != 0 ? bytes / element : 0;
  return i < count * element ? i % count * element + i / count : i;
}

// Where byte `i` of a chunk is in its box.
std::size_t place_in_box(const Box& box, const std::vector<hsize_t>& place, std::size_t i) {
  const Stored& stored = *box.stored;
  std::size_t element = i / stored.element;
  std::size_t found = 0;
  std::size_t stride = 1;
  for (std::size_t dimension = box.shape.size(); dimension-- > 0;) {
    const auto extent = static_cast<std::size_t>(stored.chunk[dimension]);
    found += (static_cast<std::size_t>(place[dimension]) + element % extent) * stride;
    element /= extent;
    stride *= static_cast<std::size_t>(box.shape[dimension]);
  }
  return found * stored.element + i % stored.element;
}

std::uint64_t key_in_box(const Box& box, const std::vector<hsize_t>& place) {
  const std::size_t bytes = box.stored->chunk_bytes();
  return key_of(bytes, box.stored->level, [&](std::size_t i) {
    return box.data[place_in_box(box, place, before_shuffle(i, bytes, box.stored->shuffled))];
  });
}

std::vector<std::byte> gathered(const Box& box, const std::vector<hsize_t>& place) {
  const Stored& stored = *box.stored;
  const std::size_t bytes = stored.chunk_bytes();
  const std::size_t row = static_cast<std::size_t>(stored.chunk.back()) * stored.element;
  std::vector<std::byte> chunk(bytes);
  for (std::size_t done = 0; done < bytes; done += row) {
    std::memcpy(chunk.data() + done, box.data + place_in_box(box, place, done), row);
  }
  return chunk;
}

std::vector<std::byte> shuffled(const std::vector<std::byte>& chunk, std::size_t element) {
  std::vector<std::byte> made(chunk.size());
  const std::size_t count = chunk.size() / element;
  std::byte* target = made.data();
  for (std::size_t i = 0; i < element; ++i) {
    const std::byte* source = chunk.data() + i;
    for (std::size_t j = 0; j < count; ++j, source += element) {
      *target++ = *source;
    }
  }
  std::copy(chunk.begin() + static_cast<std::ptrdiff_t>(count * element), chunk.end(), target);
  return made;
}

}  // namespace

std::size_t Stored::chunk_bytes() const noexcept {
  return std::accumulate(chunk.begin(), chunk.end(), element,
                         [](std::size_t bytes, hsize_t extent) { return bytes * static_cast<std::size_t>(extent); });
}

std::optional<Reservation> Reservation::of(std::size_t bytes) {
  Background& background = Background::instance();
  const Lock lock(background.mutex);
  return background.pool.reserve(bytes) ? std::optional(Reservation(bytes)) : std::nullopt;
}

Reservation Reservation::part(std::size_t bytes) noexcept {
  const std::size_t taken = std::min(bytes, bytes_);
  bytes_ -= taken;
  return Reservation(taken);
}

Reservation::~Reservation() {
  Background& background = Background::instance();
  if (bytes_ != 0 && generation_ == background.generation()) {
    const Lock lock(background.mutex);
    background.pool.release(bytes_);
  }
}

Chunk::Chunk(std::shared_ptr<const Box> box, std::vector<hsize_t> place, Reservation reservation)
    : box_(std::move(box)),
      place_(std::move(place)),
      key_(key_in_box(*box_, place_)),
      generation_(Background::instance().generation()),
      reservation_(std::move(reservation)) {}

void Chunk::compress(bool in_background) noexcept {
  Background& background = Background::instance();
  {
    const Lock lock(background.mutex);
    if (state_ != State::waiting) {
      return;
    }
    state_ = State::running;
  }
  const std::uint64_t begin = now();
  try {
    const Stored& stored = *box_->stored;
    source_ = gathered(*box_, place_);
    if (stored.shuffled != 0) {
      source_ = shuffled(source_, stored.shuffled);
    }
    if (auto made = process_deflate()->deflated(source_, stored.level)) {
      result_ = std::move(*made);
    }
  } catch (const std::bad_alloc&) {
    result_.clear();  // HDF5's filter is asked, and may find memory
  }
  box_.reset();
  const Lock lock(background.mutex);
  state_ = State::done;
  if (in_background) {
    ++background.report.chunks_compressed;
    background.report.compression_time += now() - begin;
  } else {
    ++background.report.chunks_compressed_by_program;
  }
  background.announce();
}

bool Chunk::finish() {
  compress(false);
  Background& background = Background::instance();
  Lock lock(background.mutex);
  background.wait(lock, Cause::compression, [&] { return ended(); });
  return state_ == State::done;
}

void Chunk::abandon() {
  Background& background = Background::instance();
  {
    Lock lock(background.mutex);
    if (state_ == State::waiting) {
      state_ = State::done;
    }
    background.wait(lock, Cause::compression, [&] { return ended(); });
  }
  box_.reset();
}

bool Chunk::made_of(std::span<const std::byte> source) const noexcept {
  return !result_.empty() && source_.size() == source.size() &&
         std::memcmp(source_.data(), source.data(), source.size()) == 0;
}

ChunkTable& ChunkTable::instance() {
  static auto* const made = new ChunkTable;  // HDF5 may close files after destructors have run
  return *made;
}

void ChunkTable::add(const void* owner, std::shared_ptr<Chunk> chunk) {
  const std::uint64_t key = chunk->key();
  chunks_.emplace(key, Entry{owner, std::move(chunk)});
}

std::shared_ptr<Chunk> ChunkTable::take(std::span<const std::byte> source, unsigned level) {
  const auto [first, last] =
      chunks_.equal_range(key_of(source.size(), level, [&](std::size_t i) { return source[i]; }));
  for (auto entry = first; entry != last; ++entry) {
    if (entry->second.chunk->finish() && entry->second.chunk->made_of(source)) {
      std::shared_ptr<Chunk> found = std::move(entry->second.chunk);
      chunks_.erase(entry);
      return found;
    }
  }
  return nullptr;
}

void ChunkTable::drop(const void* owner) {
  std::erase_if(chunks_, [&](const auto& entry) { return entry.second.owner == owner; });
}

}  // namespace dovetail::hdf5
