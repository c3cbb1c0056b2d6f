// Memory for copies: no more than the budget, used again, and given back.
// One thread.
#include "staging/buffer_pool.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "storage/support.hpp"

namespace dovetail::staging {
namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

class BufferPoolTest : public testing::Test {
 protected:
  base::MemoryBudget budget_{8 * mebibyte};
  BufferPool pool_{budget_};
};

TEST_F(BufferPoolTest, GivesBuffersOfAtLeastTheSizeAskedForOrTheLargest) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{4096}, std::size_t{8192}, std::size_t{8193},
                                  std::size_t{100'000}, mebibyte, 2 * mebibyte, 5 * mebibyte}) {
    const Buffer buffer = pool_.take(bytes);
    ASSERT_NE(buffer.data, nullptr) << bytes;
    EXPECT_GE(buffer.capacity, std::min(bytes, BufferPool::largest));
    std::memset(buffer.data, 1, buffer.capacity);
    EXPECT_EQ(budget_.used(), buffer.capacity);
    pool_.give_back(buffer);
  }
  EXPECT_EQ(budget_.used(), 0U);
}

TEST_F(BufferPoolTest, NeverTakesMoreThanTheBudgetHas) {
  std::vector<Buffer> out;
  for (Buffer buffer = pool_.take(mebibyte); buffer.data != nullptr; buffer = pool_.take(mebibyte)) {
    out.push_back(buffer);
  }
  EXPECT_EQ(out.size(), 8U);
  EXPECT_EQ(pool_.taken(), 8 * mebibyte);
  pool_.give_back(out.back());
  EXPECT_EQ(pool_.take(2 * mebibyte).data, nullptr);
  out.back() = pool_.take(mebibyte);
  EXPECT_NE(out.back().data, nullptr);
  for (const Buffer& buffer : out) {
    pool_.give_back(buffer);
  }
}

TEST_F(BufferPoolTest, LeavesWhatOthersHaveTakenOfTheBudget) {
  ASSERT_TRUE(budget_.try_take(7 * mebibyte));
  EXPECT_EQ(pool_.take(2 * mebibyte).data, nullptr);
  const Buffer buffer = pool_.take(mebibyte);
  EXPECT_NE(buffer.data, nullptr);
  pool_.give_back(buffer);
  EXPECT_EQ(budget_.used(), 7 * mebibyte);
}

TEST_F(BufferPoolTest, UsesTheNewestBufferAgain) {
  const Buffer first = pool_.take(mebibyte);
  const Buffer second = pool_.take(mebibyte);
  pool_.give_back(first);
  pool_.give_back(second);
  EXPECT_EQ(pool_.take(mebibyte).data, second.data);
  EXPECT_EQ(pool_.take(mebibyte).data, first.data);
  pool_.give_back(first);
  pool_.give_back(second);
}

TEST_F(BufferPoolTest, KeepsNoMoreForUseAgainThanTheBudgetLeaves) {
  std::vector<Buffer> small;
  for (int i = 0; i < 64; ++i) {
    small.push_back(pool_.take(128 << 10));
  }
  for (const Buffer& buffer : small) {
    pool_.give_back(buffer);
  }
  EXPECT_EQ(pool_.kept(), 8 * mebibyte);
  const Buffer large = pool_.take(2 * mebibyte);
  EXPECT_LE(pool_.kept() + pool_.taken(), 8 * mebibyte);
  pool_.give_back(large);
}

TEST_F(BufferPoolTest, GivesBackToTheSystemBitByBit) {
  base::MemoryBudget budget(64 * mebibyte);
  BufferPool pool(budget);
  std::vector<Buffer> out;
  for (int i = 0; i < 32; ++i) {
    out.push_back(pool.take(2 * mebibyte));
  }
  for (const Buffer& buffer : out) {
    pool.give_back(buffer);
  }
  std::size_t before = pool.kept();
  EXPECT_EQ(before, 64 * mebibyte);
  unsigned steps = 0;
  for (; pool.kept() != 0; ++steps) {
    pool.release_some();
    EXPECT_LT(pool.kept(), before);
    EXPECT_LE(before - pool.kept(), BufferPool::few);
    before = pool.kept();
  }
  EXPECT_GT(steps, 1U);
}

TEST_F(BufferPoolTest, ModestOnesGetNoNewMemoryBeyondTheFirstFew) {
  base::MemoryBudget budget(64 * mebibyte);
  BufferPool pool(budget);
  std::vector<Buffer> out;
  for (Buffer buffer = pool.take(BufferPool::largest, true); buffer.data != nullptr;
       buffer = pool.take(BufferPool::largest, true)) {
    out.push_back(buffer);
  }
  EXPECT_EQ(out.size() * BufferPool::largest, BufferPool::few);
  const unsigned long activity = pool.activity();
  pool.give_back(out.back());
  EXPECT_NE(pool.take(BufferPool::largest, true).data, nullptr) << "what is mapped already";
  EXPECT_EQ(pool.activity(), activity + 2);
  for (const Buffer& buffer : out) {
    pool.give_back(buffer);
  }
}

TEST_F(BufferPoolTest, WhatWasTakenBeforeAForkCountsNoMore) {
  const Buffer buffer = pool_.take(mebibyte);
  pool_.forget_taken();
  EXPECT_EQ(budget_.used(), 0U);
  pool_.give_back(buffer);
  EXPECT_EQ(budget_.used(), 0U);
  EXPECT_EQ(pool_.taken(), 0U);
}

TEST_F(BufferPoolTest, PiecesLeaveLittleOfABufferOver) {
  std::mt19937_64 random(test::seed());
  for (int i = 0; i < 2000; ++i) {
    std::size_t bytes = 1 + random() % (BufferPool::largest);
    while (bytes != 0) {
      const std::size_t piece = BufferPool::piece_of(bytes);
      ASSERT_GT(piece, 0U);
      ASSERT_LE(piece, bytes);
      const Buffer buffer = pool_.take(piece);
      ASSERT_GE(buffer.capacity, piece);
      if (piece > (128 << 10)) {
        ASSERT_LE(buffer.capacity - piece, buffer.capacity / 4) << piece;
      }
      pool_.give_back(buffer);
      bytes -= piece;
    }
  }
}

TEST_F(BufferPoolTest, BuffersOfManySizesDoNotOverlap) {
  std::mt19937_64 random(test::seed());
  std::vector<std::pair<Buffer, unsigned char>> out;
  for (unsigned step = 0; step < 2000; ++step) {
    if (!out.empty() && random() % 2 == 0) {
      const std::size_t chosen = random() % out.size();
      const auto [buffer, mark] = out[chosen];
      for (std::size_t i = 0; i < buffer.capacity; i += buffer.capacity - 1) {
        ASSERT_EQ(std::to_integer<unsigned char>(buffer.data[i]), mark);
      }
      pool_.give_back(buffer);
      out.erase(out.begin() + static_cast<std::ptrdiff_t>(chosen));
    } else if (const Buffer buffer = pool_.take(1 + random() % mebibyte); buffer.data != nullptr) {
      const auto mark = static_cast<unsigned char>(step);
      buffer.data[0] = buffer.data[buffer.capacity - 1] = std::byte{mark};
      out.emplace_back(buffer, mark);
    }
    ASSERT_LE(budget_.used(), budget_.limit());
  }
  for (const auto& [buffer, mark] : out) {
    pool_.give_back(buffer);
  }
}

}  // namespace
}  // namespace dovetail::staging
