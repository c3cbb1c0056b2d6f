// A chunk that a task has compressed is what the library makes of the very bytes that it is asked for, whichever thread
// compressed it.
#include "compression/chunk.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <thread>

#include "base/random_bytes.hpp"
#include "compression/chunk_table.hpp"
#include "dovetail/dovetail.hpp"
#include "tasking/background.hpp"
#include "tasking/support.hpp"

namespace dovetail::compression {
namespace {

// A library that is easy to foresee: the level, then each byte plus the level.
int add_level(unsigned char* target, unsigned long* target_bytes, const unsigned char* source,
              unsigned long source_bytes, int level) {
  if (*target_bytes < source_bytes + 1) {
    return -5;
  }
  target[0] = static_cast<unsigned char>(level);
  std::transform(source, source + source_bytes, target + 1,
                 [level](unsigned char byte) { return static_cast<unsigned char>(byte + level); });
  *target_bytes = source_bytes + 1;
  return 0;
}
unsigned long one_more(unsigned long bytes) { return bytes + 1; }
int without_memory(unsigned char*, unsigned long*, const unsigned char*, unsigned long, int) { return -4; }

constexpr Codec codec{.compress = add_level, .bound = one_more};

std::vector<std::byte> expected_of(const std::vector<std::byte>& source, unsigned level) {
  return codec.compressed(source, level).value();
}

/// A box of an array of which the elements are numbered, so that each chunk can be made by definition.
struct Numbered {
  std::shared_ptr<ChunkLayout> layout = std::make_shared<ChunkLayout>();
  Coordinates start;
  Coordinates shape;
  std::vector<std::byte> data;

  Numbered(Coordinates chunk, Coordinates first, Coordinates extent, bool shuffled)
      : start(std::move(first)), shape(std::move(extent)) {
    layout->chunk = std::move(chunk);
    layout->element = sizeof(std::uint32_t);
    layout->shuffled = shuffled ? layout->element : 0;
    layout->level = 3;
    layout->codec = codec;
    std::size_t elements = 1;
    for (const std::uint64_t length : shape) {
      elements *= length;
    }
    data = test::random_bytes(elements * layout->element, 7);
  }
  std::shared_ptr<const Box> box() const {
    return std::make_shared<Box>(Box{.layout = layout, .start = start, .shape = shape, .data = data.data()});
  }
  // Element by element.
  std::vector<std::byte> source_of(const Coordinates& number) const {
    const std::size_t size = layout->element;
    std::vector<std::byte> made(layout->chunk_bytes());
    const std::size_t elements = made.size() / size;
    for (std::size_t i = 0; i < elements; ++i) {
      std::size_t rest = i;
      std::size_t place = 0;
      std::size_t factor = 1;
      for (std::size_t d = shape.size(); d-- > 0;) {
        const std::uint64_t in_chunk = rest % layout->chunk[d];
        rest /= layout->chunk[d];
        place += (number[d] * layout->chunk[d] + in_chunk - start[d]) * factor;
        factor *= shape[d];
      }
      for (std::size_t b = 0; b < size; ++b) {
        made[layout->shuffled != 0 ? b * elements + i : i * size + b] = data[place * size + b];
      }
    }
    return made;
  }
};

class ChunkTest : public testing::Test {
 protected:
  void TearDown() override { tasking::end_background(); }
  base::MemoryBudget whole{std::uint64_t{64} << 20};
  base::MemoryBudget part{std::uint64_t{64} << 20};
  base::Overlap overlap;
  Statistics statistics{overlap};
};

TEST_F(ChunkTest, ABoxHasTheChunksThatItCoversWholly) {
  std::mt19937_64 random(test::seed());
  for (int run = 0; run < 60; ++run) {
    const std::size_t rank = 1 + random() % 3;
    Coordinates chunk;
    Coordinates start;
    Coordinates shape;
    for (std::size_t d = 0; d < rank; ++d) {
      chunk.push_back(1 + random() % 4);
      start.push_back(random() % 10);
      shape.push_back(1 + random() % 10);
    }
    const Numbered array(chunk, start, shape, random() % 2 == 0);
    std::set<Coordinates> covered;
    for (const auto& made : chunks_of(statistics, array.box())) {
      EXPECT_TRUE(covered.insert(made->number()).second) << "none comes twice";
    }
    std::set<Coordinates> expected;
    for (std::uint64_t i = 0; i < 20 * 20 * 20; ++i) {
      const Coordinates digits{i % 20, i / 20 % 20, i / 400};
      bool whole_chunk = std::all_of(digits.begin() + static_cast<std::ptrdiff_t>(rank), digits.end(),
                                     [](std::uint64_t digit) { return digit == 0; });
      for (std::size_t d = 0; d < rank; ++d) {
        whole_chunk =
            whole_chunk && digits[d] * chunk[d] >= start[d] && (digits[d] + 1) * chunk[d] <= start[d] + shape[d];
      }
      if (whole_chunk) {
        expected.insert(Coordinates(digits.begin(), digits.begin() + static_cast<std::ptrdiff_t>(rank)));
      }
    }
    ASSERT_EQ(covered, expected) << "run " << run;
  }
}

TEST_F(ChunkTest, TasksMakeWhatTheLibraryMakesOfEachChunk) {
  const Runtime program(Options{.workers = 2});
  for (const bool shuffled : {false, true}) {
    const Numbered array({4, 16, 8}, {4, 8, 0}, {9, 56, 24}, shuffled);
    const auto chunks = chunks_of(statistics, array.box());
    ASSERT_EQ(chunks.size(), 2U * 3 * 3);
    auto memory = base::MemoryShare::of({whole, part}, chunks.size() * chunks.front()->working_bytes());
    ASSERT_EQ(compress_in_tasks(chunks, *memory, "test"), chunks.size());
    for (const auto& chunk : chunks) {
      const std::vector<std::byte> source = array.source_of(chunk->number());
      EXPECT_EQ(chunk->key(), key_of(source, 3));
      ASSERT_TRUE(chunk->is_made_of(source));
      EXPECT_EQ(chunk->result(), expected_of(source, 3));
    }
  }
}

TEST_F(ChunkTest, OneOtherByteIsAnotherChunk) {
  const Numbered array({64}, {0}, {64}, true);
  std::vector<std::byte> source = array.source_of({0});
  for (const bool compressed : {false, true}) {
    const auto chunk = std::make_shared<Chunk>(statistics, array.box(), Coordinates{0});
    if (compressed) {
      chunk->compress();
    }
    // The same sum, so that the key may be the same as well.
    std::vector<std::byte> other = source;
    const auto differs = std::ranges::adjacent_find(other, std::ranges::not_equal_to());
    std::swap(*differs, *std::next(differs));
    EXPECT_FALSE(chunk->is_made_of(other));
    EXPECT_FALSE(chunk->is_made_of(std::span(source).first(source.size() - 1)));
    EXPECT_TRUE(chunk->is_made_of(source)) << "it is still to be had";
  }
}

TEST_F(ChunkTest, TheProgramMakesWhatNoTaskHasBegun) {
  const Numbered array({64}, {0}, {64}, false);
  const auto chunk = std::make_shared<Chunk>(statistics, array.box(), Coordinates{0});
  EXPECT_FALSE(chunk->ended());
  ASSERT_TRUE(chunk->is_made_of(array.source_of({0})));
  EXPECT_TRUE(chunk->ended());
  EXPECT_EQ(statistics.chunks_by_program.load(), 1U);
  chunk->compress();
  EXPECT_EQ(statistics.chunks_by_tasks.load(), 0U) << "it is not made twice";
}

TEST_F(ChunkTest, OneThatIsGivenUpOrFailsIsNobodys) {
  Numbered array({64}, {0}, {64}, false);
  const auto given_up = std::make_shared<Chunk>(statistics, array.box(), Coordinates{0});
  given_up->give_up();
  given_up->compress();
  EXPECT_FALSE(given_up->is_made_of(array.source_of({0})));
  array.layout->codec.compress = without_memory;
  const auto failed = std::make_shared<Chunk>(statistics, array.box(), Coordinates{0});
  failed->compress();
  EXPECT_FALSE(failed->is_made_of(array.source_of({0})));
}

TEST_F(ChunkTest, AsManyAreGivenToTasksAsThereIsMemoryFor) {
  Runtime program(Options{.workers = 1});
  const Numbered array({64}, {0}, {64 * 10}, false);
  {
    const auto chunks = chunks_of(statistics, array.box());
    auto memory = base::MemoryShare::of({whole, part}, 3 * chunks.front()->working_bytes() + 1);
    EXPECT_EQ(compress_in_tasks(chunks, *memory, "test"), 3U);
    EXPECT_EQ(memory->bytes(), 1U);
    for (const auto& chunk : chunks) {
      EXPECT_TRUE(chunk->is_made_of(array.source_of(chunk->number())));
    }
    EXPECT_EQ(whole.used(), 3 * 2 * array.layout->chunk_bytes() + 1);
  }
  program.wait();
  EXPECT_EQ(whole.used(), 0U) << "and it comes back";
  EXPECT_EQ(part.used(), 0U);
}

TEST_F(ChunkTest, NobodyReadsTheBoxOfAnAbandonedChunk) {
  const Runtime program(Options{.workers = 2});
  for (std::size_t run = 0; run < test::scaled(300, 50); ++run) {
    Numbered array({256}, {0}, {256 * 8}, false);
    const auto chunks = chunks_of(statistics, array.box());
    auto memory = base::MemoryShare::of({whole, part}, chunks.size() * chunks.front()->working_bytes());
    compress_in_tasks(chunks, *memory, "test");
    for (const auto& chunk : chunks) {
      chunk->abandon();
    }
    std::ranges::fill(array.data, std::byte{0});  // a race if a thread still read it
  }
}

TEST_F(ChunkTest, TheTableFindsByWhatAChunkIsMadeOf) {
  const Numbered array({64}, {0}, {64 * 3}, true);
  ChunkTable table;
  for (const auto& chunk : chunks_of(statistics, array.box())) {
    table.add(&array, chunk);
  }
  std::vector<std::byte> unknown = array.source_of({1});
  unknown.front() ^= std::byte{1};
  EXPECT_EQ(table.take(unknown, 3), nullptr);
  EXPECT_EQ(table.take(array.source_of({1}), 4), nullptr) << "at another level";
  const auto found = table.take(array.source_of({1}), 3);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->number(), Coordinates{1});
  EXPECT_EQ(found->result(), expected_of(array.source_of({1}), 3));
  EXPECT_EQ(table.take(array.source_of({1}), 3), nullptr) << "it was taken";
  table.drop(&array);
  EXPECT_TRUE(table.empty());
}

TEST_F(ChunkTest, WhatIsOverwrittenIsNotCompressed) {
  const Numbered first({64}, {0}, {64}, false);
  Numbered second({64}, {0}, {64}, false);
  std::ranges::reverse(second.data);
  const char owner = 'a';
  const char other = 'b';
  ChunkTable table;
  const auto overwritten = std::make_shared<Chunk>(statistics, first.box(), Coordinates{0});
  const auto elsewhere = std::make_shared<Chunk>(statistics, first.box(), Coordinates{0});
  table.add(&owner, overwritten);
  table.add(&other, elsewhere);
  table.add(&owner, std::make_shared<Chunk>(statistics, second.box(), Coordinates{0}));
  EXPECT_TRUE(overwritten->ended());
  EXPECT_EQ(table.take(first.source_of({0}), 3), elsewhere);
  EXPECT_NE(table.take(second.source_of({0}), 3), nullptr);
}

TEST_F(ChunkTest, BeforeEachLookupMoreMayBeAdded) {
  const Numbered array({64}, {0}, {64 * 4}, false);
  const auto chunks = chunks_of(statistics, array.box());
  ChunkTable table;
  std::size_t added = 0;
  table.before_each([&] {
    if (added < chunks.size()) {
      table.add(&array, chunks[added++]);
    }
  });
  for (std::uint64_t i = 0; i < chunks.size(); ++i) {
    EXPECT_NE(table.take(array.source_of({i}), 3), nullptr) << i;
  }
  EXPECT_EQ(added, chunks.size());
}

TEST_F(ChunkTest, TasksAndTheProgramShareTheWork) {
  const Runtime program(Options{.workers = 2});
  for (std::size_t run = 0; run < test::scaled(100, 20); ++run) {
    const Numbered array({128}, {0}, {128 * 40}, true);
    const auto chunks = chunks_of(statistics, array.box());
    auto memory = base::MemoryShare::of({whole, part}, chunks.size() * chunks.front()->working_bytes());
    compress_in_tasks(chunks, *memory, "test");
    ChunkTable table;
    for (const auto& chunk : chunks) {
      table.add(&array, chunk);
    }
    for (std::uint64_t i = 0; i < chunks.size(); ++i) {
      const std::vector<std::byte> source = array.source_of({i});
      const auto found = table.take(source, 3);
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(found->result(), expected_of(source, 3));
    }
    EXPECT_TRUE(table.empty());
  }
  EXPECT_EQ(statistics.chunks_by_tasks + statistics.chunks_by_program, test::scaled(100, 20) * 40);
}

}  // namespace
}  // namespace dovetail::compression
