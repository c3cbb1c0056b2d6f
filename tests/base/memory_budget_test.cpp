// A budget is never exceeded, and what was taken comes back.
#include "base/memory_budget.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "base/memory_share.hpp"

namespace dovetail::base {
namespace {

TEST(MemoryBudgetTest, TakesWhatFitsAndNoMore) {
  MemoryBudget budget(100);
  EXPECT_TRUE(budget.try_take(60));
  EXPECT_FALSE(budget.try_take(41));
  EXPECT_EQ(budget.used(), 60U);
  EXPECT_TRUE(budget.try_take(40));
  EXPECT_FALSE(budget.try_take(1));
  budget.give_back(100);
  EXPECT_TRUE(budget.try_take(100));
}

TEST(MemoryBudgetTest, SizesBeyondAllNumbersDoNotFit) {
  MemoryBudget budget(100);
  EXPECT_TRUE(budget.try_take(50));
  EXPECT_FALSE(budget.try_take(UINT64_MAX));
  EXPECT_FALSE(budget.try_take(UINT64_MAX - 40));
  EXPECT_EQ(budget.used(), 50U);
}

TEST(MemoryBudgetTest, ThreadsTogetherStayBelowTheLimit) {
  constexpr std::uint64_t limit = 10;
  MemoryBudget budget(limit);
  std::atomic<std::uint64_t> out{0};
  std::vector<std::thread> threads;
  for (std::uint64_t i = 1; i <= 4; ++i) {
    threads.emplace_back([&, i] {
      for (int turn = 0; turn < 20'000; ++turn) {
        if (budget.try_take(i)) {
          EXPECT_LE(out.fetch_add(i) + i, limit);
          out.fetch_sub(i);
          budget.give_back(i);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(budget.used(), 0U);
}

class MemoryShareTest : public testing::Test {
 protected:
  MemoryBudget whole_{100};
  MemoryBudget part_{50};
  const LastingBudget budget_{whole_, part_};
};

TEST_F(MemoryShareTest, IsPartOfBothBudgetsAndLeavesThemAtItsEnd) {
  {
    const auto share = MemoryShare::of(budget_, 30);
    ASSERT_TRUE(share.has_value());
    EXPECT_EQ(whole_.used(), 30U);
    EXPECT_EQ(part_.used(), 30U);
    EXPECT_FALSE(MemoryShare::of(budget_, 21).has_value()) << "of the part";
  }
  EXPECT_EQ(whole_.used(), 0U);
  EXPECT_EQ(part_.used(), 0U);
}

TEST_F(MemoryShareTest, TakesNothingWhereOneBudgetHasNotEnough) {
  ASSERT_TRUE(whole_.try_take(80));
  EXPECT_FALSE(MemoryShare::of(budget_, 30).has_value());
  EXPECT_EQ(part_.used(), 0U);
  EXPECT_EQ(whole_.used(), 80U);
  EXPECT_FALSE(MemoryShare::of(budget_, 51).has_value());
}

TEST_F(MemoryShareTest, IsMovedAndSplitWithoutBeingCountedTwice) {
  MemoryShare kept;
  EXPECT_EQ(kept.bytes(), 0U);
  {
    MemoryShare share = *MemoryShare::of(budget_, 40);
    const MemoryShare piece = share.split(10);
    EXPECT_EQ(piece.bytes(), 10U);
    EXPECT_EQ(share.bytes(), 30U);
    kept = std::move(share);
    EXPECT_EQ(kept.split(100).bytes(), 30U) << "no more than there is";
    EXPECT_EQ(part_.used(), 10U);
    kept = *MemoryShare::of(budget_, 5);
  }
  EXPECT_EQ(part_.used(), 5U);
  EXPECT_EQ(whole_.used(), 5U);
}

}  // namespace
}  // namespace dovetail::base
