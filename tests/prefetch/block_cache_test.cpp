// Which blocks are asked for and released, for one reader and for several.
// One thread.
#include "prefetch/block_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "storage/support.hpp"

namespace dovetail::prefetching {
namespace {

constexpr std::uint64_t block = 1U << 20;
constexpr Range whole{0, 1000 * block};

/// Blocks by their numbers, as they are asked for and released.
class BlockCacheTest : public testing::Test {
 protected:
  void read(std::uint64_t from, std::uint64_t bytes, std::uint64_t reader = 1) {
    cache_->note({from, from + bytes}, reader, part_, sizes_);
  }
  std::vector<std::uint64_t> asked() {
    std::vector<std::uint64_t> numbers;
    Range range{};
    while (cache_->take_wanted(range)) {
      for (std::uint64_t number = range.offset / block; number * block < range.end; ++number) {
        numbers.push_back(number);
        cache_->brought(number);
      }
    }
    return numbers;
  }
  std::vector<std::uint64_t> released() {
    std::vector<std::uint64_t> numbers;
    Range range{};
    while (cache_->take_released(range)) {
      EXPECT_EQ(range.end - range.offset, block);
      numbers.push_back(range.offset / block);
    }
    return numbers;
  }
  using Numbers = std::vector<std::uint64_t>;

  std::unique_ptr<BlockCache> cache_ = std::make_unique<BlockCache>();
  Range part_ = whole;
  BlockCache::Sizes sizes_{block, 1000 * block, 8, 4};
};

TEST_F(BlockCacheTest, AsksForTheBlockThatIsReadAndTheFollowingOnes) {
  read(10 * block + 5, 100);
  EXPECT_EQ(asked(), (Numbers{10, 11, 12, 13})) << "four from the one that is read on (section 3.2.2)";
  read(10 * block + 200, 100);
  EXPECT_EQ(asked(), Numbers{}) << "what is there is not asked for again";
  read(12 * block, 10);
  EXPECT_EQ(asked(), (Numbers{14, 15}));
}

TEST_F(BlockCacheTest, NeighbouringBlocksAreOneRange) {
  read(10 * block, 100);
  Range range{};
  ASSERT_TRUE(cache_->take_wanted(range));
  EXPECT_EQ(range.offset, 10 * block);
  EXPECT_EQ(range.end, 14 * block);
  EXPECT_FALSE(cache_->take_wanted(range));
}

TEST_F(BlockCacheTest, TheLeastRecentlyUsedBlocksAreReleased) {
  for (std::uint64_t number = 0; number < 8; ++number) {
    read(number * block, 10);
    asked();
  }
  // 0 to 10 were asked for, 8 of them stay.
  EXPECT_EQ(released(), (Numbers{0, 1, 2}));
  read(3 * block, 10);
  read(8 * block, 10);
  EXPECT_EQ(asked(), (Numbers{11}));
  EXPECT_EQ(released(), (Numbers{7})) << "3 to 6 were touched since";
}

TEST_F(BlockCacheTest, AllReadersTogetherHaveNoMoreThanTheFileMayHave) {
  sizes_.cache_blocks = 4;
  sizes_.file_blocks = 6;
  const auto bring = [&](std::uint64_t number, std::uint64_t reader) {
    read(number * block, 10, reader);
    asked();
  };
  bring(10, 1);
  EXPECT_EQ(released(), Numbers{});
  bring(100, 2);
  EXPECT_EQ(released().size(), 2U) << "of four and four";
  bring(200, 3);
  EXPECT_EQ(released().size(), 4U);
  sizes_.cache_blocks = sizes_.file_blocks = 2;
  bring(300, 3);
  EXPECT_EQ(released().size(), 6U) << "less memory holds for those that are there, too";
}

TEST_F(BlockCacheTest, BackwardStepsFindTheirBlocks) {
  for (std::uint64_t number = 0; number < 20; ++number) {
    read(number * block, 10);
    read((number > 2 ? number - 2 : 0) * block, 10);
  }
  EXPECT_EQ(cache_->counts().reads, 40U);
  asked();
  EXPECT_EQ(cache_->counts().unread, 3 * block) << "those before it";
}

TEST_F(BlockCacheTest, WhatWasAskedForAndNothingHasReadIsCountedAlsoWhenItIsGone) {
  sizes_.file_bytes = 1000 * block - 100;
  part_ = {0, sizes_.file_bytes};
  read(10 * block, 10);
  EXPECT_EQ(cache_->counts().unread, 3 * block);
  read(11 * block, 10);
  read(11 * block + 10, 10, 2);
  EXPECT_EQ(cache_->counts().unread, 3 * block);
  read(999 * block, 10);
  EXPECT_EQ(cache_->counts().unread, 3 * block) << "the last one was read at once";
  read(998 * block, 10);
  for (std::uint64_t number = 100; number < 120; ++number) {
    read(number * block, 10);
    asked();
  }
  EXPECT_EQ(cache_->counts().unread, 6 * block) << "three of the first and three of the last place";
}

TEST_F(BlockCacheTest, WhatOthersHadBroughtInIsNotReleased) {
  Range range{};
  for (std::uint64_t number = 0; number < 20; ++number) {
    read(number * block, 10);
    while (cache_->take_wanted(range)) {
    }
    cache_->brought(5);
  }
  EXPECT_EQ(released(), (Numbers{5}));
}

TEST_F(BlockCacheTest, OneReaderTakesNothingFromAnother) {
  read(500 * block, 10, 2);
  EXPECT_EQ(asked(), (Numbers{500, 501, 502, 503}));
  for (std::uint64_t number = 0; number < 100; ++number) {
    read(number * block, 10, 1);
    asked();
    for (const std::uint64_t gone : released()) {
      EXPECT_LT(gone, 100U);
    }
  }
  read(501 * block, 10, 2);
  EXPECT_EQ(asked(), (Numbers{504})) << "its blocks are still there";
}

TEST_F(BlockCacheTest, WhatOneHasAskedForIsThereForTheNext) {
  std::multiset<std::uint64_t> all;
  for (std::uint64_t number = 0; number < 50; ++number) {
    for (std::uint64_t reader = 1; reader <= 8; ++reader) {
      read(number * block, 10, reader);
      for (const std::uint64_t each : asked()) {
        all.insert(each);
      }
    }
  }
  EXPECT_EQ(all.size(), 53U);
  EXPECT_EQ(std::set<std::uint64_t>(all.begin(), all.end()).size(), all.size()) << "each once";
}

TEST_F(BlockCacheTest, AReaderThatOvertakesAnotherTakesNothingFromIt) {
  read(20 * block, 10, 1);
  asked();
  for (std::uint64_t number = 15; number < 60; ++number) {
    read(number * block, 10, 2);
    asked();
    for (const std::uint64_t gone : released()) {
      EXPECT_TRUE(gone < 20 || gone > 23) << gone;
    }
  }
  read(21 * block, 10, 1);
  EXPECT_EQ(asked(), Numbers{}) << "its own are still there, and what it is on its way to";
}

TEST_F(BlockCacheTest, WhatAReaderIsOnItsWayToStays) {
  std::multiset<std::uint64_t> all;
  for (std::uint64_t number = 0; number < 60; ++number) {
    for (const std::uint64_t reader : {1, 2}) {
      // The second one is 20 blocks behind.
      if (reader == 1 || number >= 20) {
        read((reader == 1 ? number : number - 20) * block, 10, reader);
      }
      for (const std::uint64_t each : asked()) {
        all.insert(each);
      }
    }
    if (number == 0) {
      read(0, 10, 2);
    }
  }
  EXPECT_EQ(std::set<std::uint64_t>(all.begin(), all.end()).size(), all.size()) << "each once";
  // One that does not read any more is not waited for.
  std::set<std::uint64_t> gone;
  for (std::uint64_t number = 60; number < 200; ++number) {
    read(number * block, 10, 1);
    asked();
    for (const std::uint64_t each : released()) {
      gone.insert(each);
    }
  }
  EXPECT_TRUE(gone.contains(150));
}

TEST_F(BlockCacheTest, AReaderThatFollowsAnotherKeepsNoMoreThanItsOwn) {
  std::set<std::uint64_t> kept;
  for (std::uint64_t number = 0; number < 200; ++number) {
    for (const std::uint64_t reader : {1, 2}) {
      read((number + 2 - reader) * block, 10, reader);
      for (const std::uint64_t each : asked()) {
        kept.insert(each);
      }
      for (const std::uint64_t each : released()) {
        kept.erase(each);
      }
    }
    EXPECT_LE(kept.size(), 16U);
  }
}

TEST_F(BlockCacheTest, ReadersThatHaveEndedLeaveTheirPlaces) {
  std::uint64_t kept = 0;
  for (std::uint64_t reader = 1; reader < 500; ++reader) {
    read(reader * block, 10, reader);
    kept += asked().size();
    kept -= released().size();
  }
  EXPECT_LT(kept, 256U);
  read(900 * block, 10, 900);
  EXPECT_EQ(asked(), (Numbers{900, 901, 902, 903}));
}

TEST_F(BlockCacheTest, NothingIsAskedForBehindThePart) {
  part_ = {10 * block, 12 * block + 100};
  read(11 * block, 10);
  Range range{};
  ASSERT_TRUE(cache_->take_wanted(range));
  EXPECT_EQ(range.offset, 11 * block);
  EXPECT_EQ(range.end, 12 * block + 100);
  cache_->note({5 * block, 6 * block}, 1, part_, sizes_);
  EXPECT_FALSE(cache_->take_wanted(range)) << "a read before the part";
}

TEST_F(BlockCacheTest, ABlockThatBelongsToOthersInPartIsNotReleased) {
  part_ = {block / 2, 20 * block + block / 2};
  for (std::uint64_t number = 1; number < 21; ++number) {
    read(number * block, 10);
    asked();
  }
  read(block / 2, 10);
  for (std::uint64_t number = 1; number < 20; ++number) {
    read(number * block, 10);
    asked();
  }
  const Numbers gone = released();
  EXPECT_FALSE(gone.empty());
  EXPECT_EQ(std::ranges::count(gone, 0U), 0);
  EXPECT_EQ(std::ranges::count(gone, 20U), 0);
}

TEST_F(BlockCacheTest, WithoutReadingAheadBlocksAreOnlyReleased) {
  sizes_ = {block, 1000 * block, 2, 0};
  for (std::uint64_t number = 0; number < 5; ++number) {
    read(number * block, 10);
  }
  EXPECT_EQ(asked(), Numbers{});
  EXPECT_EQ(released(), (Numbers{0, 1, 2}));
}

TEST_F(BlockCacheTest, CountsWhatCameInTime) {
  read(0, 10);
  EXPECT_EQ(cache_->counts().hits, 0U);
  read(block, 10);
  EXPECT_EQ(cache_->counts().late, 1U) << "nothing was taken yet";
  asked();
  read(2 * block, 10);
  EXPECT_EQ(cache_->counts().hits, 1U);
  EXPECT_EQ(cache_->counts().reads, 3U);
}

TEST_F(BlockCacheTest, AFullQueueLosesNothing) {
  // Each reader far from the others: no two ranges are neighbours.
  std::set<std::uint64_t> got;
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t reader = 0; reader < 80; ++reader) {
      read(reader * 10 * block, 10, reader);
    }
    for (const std::uint64_t each : asked()) {
      got.insert(each);
    }
  }
  for (std::uint64_t reader = 0; reader < 57; ++reader) {
    EXPECT_TRUE(got.contains(reader * 10)) << reader;
  }
}

TEST_F(BlockCacheTest, AReadLongerThanAllThatIsKeptGoesOnFromItsEnd) {
  read(0, 100 * block);
  EXPECT_EQ(asked(), (Numbers{92, 93, 94, 95, 96, 97, 98, 99}));
}

// A model: when each block was touched last, and the blocks that each reader holds.
TEST_F(BlockCacheTest, AgreesWithASimpleModel) {
  std::mt19937_64 random(test::seed());
  std::map<std::uint64_t, std::set<std::uint64_t>> held;
  std::map<std::uint64_t, int> touched;
  std::map<std::uint64_t, std::pair<std::uint64_t, int>> at;  // each reader's last block, and when
  part_ = {0, 60 * block};
  for (int step = 1; step <= 20000; ++step) {
    const std::uint64_t reader = random() % 4;
    const std::uint64_t first = random() % 60;
    const std::uint64_t last = std::min<std::uint64_t>(59, first + random() % 3);
    read(first * block, (last - first + 1) * block, reader);
    at[reader] = {last, step};
    std::set<std::uint64_t> wanted;
    std::set<std::uint64_t> gone;
    for (std::uint64_t number = first; number < std::max(last + 1, std::min<std::uint64_t>(first + 4, 60)); ++number) {
      if (!touched.contains(number)) {
        wanted.insert(number);
      }
      touched[number] = step;
      held[reader].insert(number);
    }
    while (held[reader].size() > 8) {
      const std::uint64_t oldest = *std::ranges::min_element(
          held[reader], {}, [&](std::uint64_t number) { return std::pair(touched[number], number); });
      held[reader].erase(oldest);
      const bool is_held = std::ranges::any_of(held, [&](const auto& each) { return each.second.contains(oldest); });
      const bool is_expected = std::ranges::any_of(
          at, [&](const auto& each) { return each.second.first < oldest && step - each.second.second < 64; });
      if (!is_held && !is_expected) {
        gone.insert(oldest);
        touched.erase(oldest);
      }
    }
    const Numbers numbers = asked();
    ASSERT_EQ(std::set<std::uint64_t>(numbers.begin(), numbers.end()), wanted) << "step " << step;
    const Numbers out = released();
    ASSERT_EQ(std::set<std::uint64_t>(out.begin(), out.end()), gone) << "step " << step;
  }
}

TEST(BlockCacheMemoryTest, WhateverIsInItNothingElseIsTouched) {
  std::mt19937_64 random(test::seed());
  for (int round = 0; round < 100; ++round) {
    const auto cache = std::make_unique<BlockCache>();
    auto* bytes = reinterpret_cast<unsigned char*>(cache.get());
    for (std::size_t at = 0; at < sizeof(BlockCache); ++at) {
      bytes[at] = random() % 3 == 0 ? static_cast<unsigned char>(random()) : 0;
    }
    for (int step = 0; step < 50; ++step) {
      const std::uint64_t offset = random() % far_end;
      const auto any = [&random] { return static_cast<std::uint32_t>(random()); };
      const BlockCache::Sizes sizes{random() % (1U << 30), far_end, any(), any()};
      cache->note({offset, offset + random() % (1U << 30)}, random() % 4, {0, far_end}, sizes);
      Range range{};
      for (int taken = 0; taken < 200 && (cache->take_wanted(range) || cache->take_released(range)); ++taken) {
        cache->brought(range.offset);
      }
    }
    cache->forget();
  }
}

}  // namespace
}  // namespace dovetail::prefetching
