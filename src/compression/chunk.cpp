#include "compression/chunk.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>
#include <numeric>
#include <utility>

#include "base/clock.hpp"
#include "tasking/background.hpp"

namespace dovetail::compression {
namespace {

// What one task compresses: some milliseconds.
constexpr std::size_t task_bytes = std::size_t{256} << 10;
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

// The first element of a chunk in its box.
Coordinates place_of(const Box& box, const Coordinates& number) {
  Coordinates place(number.size());
  for (std::size_t i = 0; i < place.size(); ++i) {
    place[i] = number[i] * box.layout->chunk[i] - box.start[i];
  }
  return place;
}

// Where byte `i` of a chunk is in its box.
std::size_t place_in_box(const Box& box, const Coordinates& place, std::size_t i) {
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
void for_rows(const Box& box, const Coordinates& place, Use use) {
  const std::size_t row = static_cast<std::size_t>(box.layout->chunk.back()) * box.layout->element;
  for (std::size_t done = 0; done < box.layout->chunk_bytes(); done += row) {
    use(done, std::span(box.data + place_in_box(box, place, done), row));
  }
}

std::uint64_t key_in_box(const Box& box, const Coordinates& place) {
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

std::uint64_t key_of(std::span<const std::byte> source, unsigned level) {
  return key_of(source.size(), level, sum_of(source), [&](std::size_t i) { return source[i]; });
}

Chunk::Chunk(Statistics& statistics, std::shared_ptr<const Box> box, Coordinates number)
    : statistics_(statistics),
      box_(std::move(box)),
      number_(std::move(number)),
      key_(key_in_box(*box_, place_of(*box_, number_))) {}

void Chunk::gather() {
  if (!source_.empty()) {
    return;
  }
  std::vector<std::byte> chunk(box_->layout->chunk_bytes());
  for_rows(*box_, place_of(*box_, number_), [&](std::size_t begin, std::span<const std::byte> row) {
    std::memcpy(chunk.data() + begin, row.data(), row.size());
  });
  source_ = box_->layout->shuffled != 0 ? shuffled(chunk, box_->layout->shuffled) : std::move(chunk);
}

bool Chunk::source_is(std::span<const std::byte> source) const noexcept {
  return source_.size() == source.size() && std::memcmp(source_.data(), source.data(), source.size()) == 0;
}

// Without a result, the thread that asks compresses the chunk, and may find memory.
void Chunk::make_result() noexcept {
  try {
    gather();
    if (auto made = box_->layout->codec.compressed(source_, box_->layout->level)) {
      result_ = std::move(*made);
    }
  } catch (const std::bad_alloc&) {
    result_.clear();
  }
  box_.reset();
}

void Chunk::compress() noexcept {
  if (!claim_.take()) {
    return;
  }
  const std::uint64_t begun = base::nanoseconds();
  {
    const base::Overlap::Work work(statistics_.overlap);
    make_result();
  }
  statistics_.time += base::nanoseconds() - begun;
  ++statistics_.chunks_by_tasks;
  claim_.end();
  if (statistics_.chunk_ended) {
    statistics_.chunk_ended();
  }
}

bool Chunk::is_made_of(std::span<const std::byte> source) {
  while (!claim_.take()) {
    if (claim_.ended()) {
      return !result_.empty() && source_is(source);
    }
    if (claim_.is_of_parent()) {
      return false;
    }
    const base::Overlap::Wait waiting(statistics_.overlap);
    const std::uint64_t begun = base::nanoseconds();
    claim_.wait();
    statistics_.waited += base::nanoseconds() - begun;
  }
  try {
    gather();
  } catch (const std::bad_alloc&) {
    claim_.give_back();
    return false;
  }
  if (!source_is(source)) {
    claim_.give_back();  // its turn may come
    return false;
  }
  make_result();
  ++statistics_.chunks_by_program;
  claim_.end();
  return !result_.empty();
}

void Chunk::give_up() noexcept {
  if (claim_.take()) {
    box_.reset();
    share_ = {};
    claim_.end();
  }
}

void Chunk::abandon() noexcept {
  give_up();
  claim_.wait();
}

std::vector<std::shared_ptr<Chunk>> chunks_of(Statistics& statistics, const std::shared_ptr<const Box>& box) {
  const Covered covered(*box->layout, box->start, box->shape);
  std::vector<std::shared_ptr<Chunk>> chunks;
  chunks.reserve(covered.count);
  Coordinates at = covered.first;
  while (chunks.size() < covered.count) {
    chunks.push_back(std::make_shared<Chunk>(statistics, box, at));
    for (std::size_t i = at.size(); i > 0; --i) {
      if (++at[i - 1] < covered.behind[i - 1]) {
        break;
      }
      at[i - 1] = covered.first[i - 1];
    }
  }
  return chunks;
}

std::size_t compress_in_tasks(std::span<const std::shared_ptr<Chunk>> chunks, base::MemoryShare& memory,
                              const std::string& label) {
  std::size_t done = 0;
  while (done < chunks.size()) {
    std::vector<std::shared_ptr<Chunk>> group;
    for (std::size_t bytes = 0; done < chunks.size() && bytes < task_bytes; ++done) {
      const std::size_t needed = chunks[done]->working_bytes();
      if (memory.bytes() < needed) {
        break;
      }
      chunks[done]->reserve(memory.split(needed));
      bytes += needed / 2;
      group.push_back(chunks[done]);
    }
    if (group.empty()) {
      break;
    }
    const auto body = [group] { std::ranges::for_each(group, [](const auto& chunk) { chunk->compress(); }); };
    if (!tasking::spawn_in_background({.label = label, .on_failure = ignore_failure}, body)) {
      std::ranges::for_each(group, [](const auto& chunk) { chunk->give_up(); });
    }
  }
  return done;
}

}  // namespace dovetail::compression
