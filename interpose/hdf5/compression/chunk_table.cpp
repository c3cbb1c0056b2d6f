#include "compression/chunk_table.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
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

/// The key of a chunk as deflate is given it; `at(i)` is its byte i, `sum` that of all bytes, which no order changes.
template <class At>
std::uint64_t key_of(std::size_t bytes, unsigned level, std::uint64_t sum, At at) {
  constexpr std::uint64_t basis = 0xcbf29ce484222325;
  std::uint64_t key = mixed(mixed(mixed(basis, bytes), level), sum);
  for (std::size_t i = 0; i < samples; ++i) {
    key = mixed(key, std::to_integer<std::uint64_t>(at(bytes / samples * i + i * (bytes % samples) / samples)));
  }
  return key;
}

std::uint64_t sum_of(std::span<const std::byte> bytes) {
  return std::transform_reduce(bytes.begin(), bytes.end(), std::uint64_t{0}, std::plus<>(),
                               [](std::byte byte) { return std::to_integer<std::uint64_t>(byte); });
}

// Where the shuffle filter takes byte `i` of its result from.
std::size_t before_shuffle(std::size_t i, std::size_t bytes, std::size_t element) {
  const std::size_t count = element != 0 ? bytes / element : 0;
  return i < count * element ? i % count * element + i / count : i;
}

// Where byte `i` of a chunk is in its box.
std::size_t place_in_box(const Box& box, const std::vector<hsize_t>& place, std::size_t i) {
  const ChunkLayout& layout = *box.layout;
  std::size_t element = i / layout.element;
  std::size_t found = 0;
  std::size_t stride = 1;
  for (std::size_t dimension = box.shape.size(); dimension-- > 0;) {
    const auto extent = static_cast<std::size_t>(layout.chunk[dimension]);
    found += (static_cast<std::size_t>(place[dimension]) + element % extent) * stride;
    element /= extent;
    stride *= static_cast<std::size_t>(box.shape[dimension]);
  }
  return found * layout.element + i % layout.element;
}

/// Calls `use` with each row of a chunk in its box, and where it begins in the chunk.
template <class Use>
void for_rows(const Box& box, const std::vector<hsize_t>& place, Use use) {
  const std::size_t row = static_cast<std::size_t>(box.layout->chunk.back()) * box.layout->element;
  for (std::size_t done = 0; done < box.layout->chunk_bytes(); done += row) {
    use(done, std::span(box.data + place_in_box(box, place, done), row));
  }
}

std::uint64_t key_in_box(const Box& box, const std::vector<hsize_t>& place) {
  const std::size_t bytes = box.layout->chunk_bytes();
  std::uint64_t sum = 0;
  for_rows(box, place, [&](std::size_t, std::span<const std::byte> row) { sum += sum_of(row); });
  return key_of(bytes, box.layout->level, sum, [&](std::size_t i) {
    return box.data[place_in_box(box, place, before_shuffle(i, bytes, box.layout->shuffled))];
  });
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

std::size_t ChunkLayout::chunk_bytes() const noexcept {
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

Chunk::Chunk(std::shared_ptr<const Box> box, std::vector<hsize_t> place, std::vector<hsize_t> number)
    : box_(std::move(box)),
      place_(std::move(place)),
      number_(std::move(number)),
      key_(key_in_box(*box_, place_)),
      generation_(Background::instance().generation()) {}

bool Chunk::begin() noexcept {
  const Lock lock(Background::instance().mutex);
  if (state_ != State::waiting) {
    return false;
  }
  state_ = State::running;
  return true;
}

void Chunk::end(State state, std::uint64_t* count) noexcept {
  Background& background = Background::instance();
  const Lock lock(background.mutex);
  state_ = state;
  if (count != nullptr) {
    ++*count;
  }
  background.announce();
}

void Chunk::gather() {
  if (!source_.empty()) {
    return;
  }
  std::vector<std::byte> chunk(box_->layout->chunk_bytes());
  for_rows(*box_, place_, [&](std::size_t begin, std::span<const std::byte> row) {
    std::memcpy(chunk.data() + begin, row.data(), row.size());
  });
  source_ = box_->layout->shuffled != 0 ? shuffled(chunk, box_->layout->shuffled) : std::move(chunk);
}

bool Chunk::source_is(std::span<const std::byte> source) const noexcept {
  return source_.size() == source.size() && std::memcmp(source_.data(), source.data(), source.size()) == 0;
}

void Chunk::deflate() noexcept {
  try {
    gather();
    if (auto made = process_deflate()->deflated(source_, box_->layout->level)) {
      result_ = std::move(*made);
    }
  } catch (const std::bad_alloc&) {
    result_.clear();  // HDF5's filter is asked, and may find memory
  }
  box_.reset();
}

void Chunk::compress_in_background() noexcept {
  if (begin()) {
    const std::uint64_t begun = now();
    deflate();
    Background& background = Background::instance();
    {
      const Lock lock(background.mutex);
      background.report.compression_time += now() - begun;
    }
    end(State::done, &background.report.chunks_compressed);
  }
}

bool Chunk::is_made_of(std::span<const std::byte> source) {
  Background& background = Background::instance();
  if (begin()) {
    try {
      gather();
    } catch (const std::bad_alloc&) {
      end(State::waiting, nullptr);
      return false;
    }
    if (!source_is(source)) {
      end(State::waiting, nullptr);  // its turn may come
      return false;
    }
    deflate();
    end(State::done, &background.report.chunks_compressed_by_program);
    return !result_.empty();
  }
  {
    Lock lock(background.mutex);
    background.wait(lock, Cause::compression, [&] { return ended(); });
    if (state_ != State::done) {
      return false;
    }
  }
  return !result_.empty() && source_is(source);
}

void Chunk::give_up() noexcept {
  if (begin()) {
    box_.reset();
    end(State::done, nullptr);
  }
}

void Chunk::abandon() {
  give_up();
  Background& background = Background::instance();
  Lock lock(background.mutex);
  background.wait(lock, Cause::compression, [&] { return ended(); });
}

ChunkTable& ChunkTable::instance() {
  static auto* const made = new ChunkTable;  // HDF5 may close files after destructors have run
  return *made;
}

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
  const std::uint64_t key = key_of(source.size(), level, sum_of(source), [&](std::size_t i) { return source[i]; });
  const auto [first, last] = chunks_.equal_range(key);
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

}  // namespace dovetail::hdf5
