// How many tasks may be pending: what the limit follows, and when those that were held back go on.
#include <gtest/gtest.h>

#include <thread>

#include "tasking/throttle.hpp"

namespace dovetail::tasking {
namespace {

constexpr std::size_t two = 2;

// The limit looks at the tasks once in a millisecond. Meanwhile the workers slept, or were there but had no processor.
void look(Throttle& throttle, std::uint64_t completed, bool slept = true, bool with_accesses = true) {
  static IdleWorkers idle;
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  TaskTotals totals;
  totals.add(completed, completed);
  if (with_accesses) {
    throttle.count_predecessors(1, totals, two);
  }
  if (slept) {
    idle.add_slept(two * 2'000 * base::ticks_per_microsecond());
  }
  throttle.adapt(totals, idle, two);
}

TEST(SpawnLimitTest, GivenByTheProgramItStays) {
  Throttle throttle(7);
  EXPECT_FALSE(throttle.is_crowded(6));
  EXPECT_TRUE(throttle.is_crowded(7));
  EXPECT_TRUE(throttle.has_room(3));
  EXPECT_FALSE(throttle.has_room(4)) << "half of it: not one by one";
  look(throttle, 0);
  look(throttle, 0);
  throttle.widen();
  EXPECT_FALSE(throttle.count_without_waiting(7, 100, 100));
  EXPECT_EQ(throttle.limit(), 7U);
}

TEST(SpawnLimitTest, LongTasksLetItGrowByDoublingAndShortOnesEndThatAtOnce) {
  Throttle throttle(0);
  const std::size_t usual = throttle.limit();
  look(throttle, 0);
  EXPECT_EQ(throttle.limit(), usual) << "nothing to compare with";
  look(throttle, 1);
  EXPECT_EQ(throttle.limit(), 2 * usual);
  look(throttle, 2);
  EXPECT_EQ(throttle.limit(), 4 * usual);
  look(throttle, std::uint64_t{1} << 40U);
  EXPECT_EQ(throttle.limit(), usual / 4) << "short tasks fit the caches";
  look(throttle, (std::uint64_t{1} << 40U) + 1);
  EXPECT_EQ(throttle.limit(), usual) << "longer ones have what is usual at once";
  look(throttle, std::uint64_t{1} << 41U, true, false);
  EXPECT_EQ(throttle.limit(), usual) << "those without accesses fit in any case";
  for (int i = 0; i < 20; ++i) {
    throttle.widen();
  }
  const std::size_t most = throttle.limit();
  throttle.widen();
  EXPECT_EQ(throttle.limit(), most);
}

// A hundred programs beside this one make no task longer.
TEST(SpawnLimitTest, WhatOtherProgramsTookOfTheTimeIsNotTheTasks) {
  Throttle throttle(0);
  look(throttle, 0);
  const std::size_t usual = throttle.limit();
  look(throttle, 1'000, false);
  EXPECT_LT(throttle.limit(), usual) << "4 us of each went by";
}

TEST(SpawnLimitTest, WhatGoesByBetweenBurstsIsNotTheTasks) {
  Throttle throttle(0);
  look(throttle, 0);
  look(throttle, std::uint64_t{1} << 40U);
  const std::size_t narrow = throttle.limit();
  const TaskTotals totals;
  throttle.count_predecessors(1, totals, two);
  throttle.rest();
  look(throttle, (std::uint64_t{1} << 40U) + 1);
  EXPECT_EQ(throttle.limit(), narrow) << "the first of a burst compares with nothing";
  look(throttle, (std::uint64_t{1} << 40U) + 2);
  EXPECT_GT(throttle.limit(), narrow);
}

// To hold a thread back costs more than a window of short tasks that does not fit the caches.
TEST(SpawnLimitTest, ForAThreadItIsNotThatNarrow) {
  Throttle throttle(0);
  const std::size_t usual = throttle.limit();
  look(throttle, 0);
  look(throttle, std::uint64_t{1} << 40U);
  EXPECT_TRUE(throttle.is_crowded(usual - 1));
  EXPECT_FALSE(throttle.is_crowded(usual - 1, Throttle::Spawner::thread));
  EXPECT_TRUE(throttle.is_crowded(usual, Throttle::Spawner::thread));
  EXPECT_FALSE(throttle.has_room(usual / 2));
  throttle.count_threads(1);
  EXPECT_TRUE(throttle.has_room(usual / 2));
  throttle.count_threads(-1);
  EXPECT_FALSE(throttle.has_room(usual / 2));
}

TEST(SpawnLimitTest, TasksThatWaitForOthersAreNotCountedIfNothingElseIsUnderWay) {
  Throttle throttle(0);
  const std::size_t limit = throttle.limit();
  EXPECT_FALSE(throttle.count_without_waiting(limit, 0, 0));
  EXPECT_FALSE(throttle.count_without_waiting(limit, 10, 11)) << "one of them may end here";
  EXPECT_TRUE(throttle.is_crowded(limit));
  EXPECT_TRUE(throttle.count_without_waiting(limit, 10, 10));
  EXPECT_FALSE(throttle.is_crowded(limit + 39)) << "four for each operation";
  EXPECT_TRUE(throttle.is_crowded(limit + 40));
  EXPECT_FALSE(throttle.count_without_waiting(limit + 40, 10, 10)) << "no room by that any more";
}

TEST(SpawnLimitTest, WhileOthersRunTheyAreLetGoNowAndThenAndNotHeldAsLongAgain) {
  Throttle throttle(0);
  const std::size_t limit = throttle.limit();
  const base::TimePoint begin = base::Clock::now();
  EXPECT_TRUE(throttle.is_time_to_release(true, 10));
  const bool again = throttle.is_time_to_release(true, 2000);
  EXPECT_TRUE(!again || base::Clock::now() - begin >= Throttle::between_releases) << "not at once again";
  EXPECT_EQ(throttle.limit(), 2 * limit) << "ten tasks in all that time";
  EXPECT_TRUE(throttle.is_time_to_release(false, 2010)) << "what nothing runs for waits no moment";
  EXPECT_EQ(throttle.limit(), 2 * limit);
}

// 100 tasks wait for 100 others each.
void spawn_dense(Throttle& throttle, TaskTotals& totals, std::size_t workers) {
  totals.add(100, 0);
  for (int i = 0; i < 100; ++i) {
    throttle.count_predecessors(100, totals, workers);
  }
}

TEST(SpawnLimitTest, IsNarrowWhereTasksWaitForManyOthers) {
  TaskTotals totals;
  Throttle throttle(0);
  const std::size_t usual = throttle.limit();
  totals.add(100, 0);
  for (int i = 0; i < 1000; ++i) {
    throttle.count_predecessors(8, totals, 2);
  }
  EXPECT_EQ(throttle.limit(), usual) << "few others";
  spawn_dense(throttle, totals, 2);
  spawn_dense(throttle, totals, 2);
  EXPECT_LE(throttle.limit(), usual / 4);

  Throttle of_many_workers(0);
  spawn_dense(of_many_workers, totals, 40);
  spawn_dense(of_many_workers, totals, 40);
  EXPECT_EQ(of_many_workers.limit(), 16U * 40) << "enough for each";

  Throttle fixed(7000);
  spawn_dense(fixed, totals, 2);
  EXPECT_EQ(fixed.limit(), 7000U) << "as the program says";
}

TEST(SpawnLimitTest, IsWideAgainWhenTasksWaitForFewOthers) {
  TaskTotals totals;
  Throttle throttle(0);
  const std::size_t usual = throttle.limit();
  spawn_dense(throttle, totals, 2);
  ASSERT_LT(throttle.limit(), usual);
  IdleWorkers idle;
  const auto look_again = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    idle.add_slept(two * 2'000 * base::ticks_per_microsecond());
    throttle.adapt(totals, idle, two);
  };
  look_again();
  look_again();
  EXPECT_LT(throttle.limit(), usual) << "however long the tasks take";
  totals.add(std::uint64_t{1} << 30U, 1);
  for (int i = 0; i < 20; ++i) {
    look_again();
  }
  EXPECT_GT(throttle.limit(), usual);
}

TEST(SpawnLimitTest, CountsWhomItHolds) {
  Throttle throttle(0);
  EXPECT_FALSE(throttle.holds_any());
  throttle.count_threads(2);
  EXPECT_TRUE(throttle.holds_any());
  throttle.count_threads(-2);
  EXPECT_FALSE(throttle.holds_any());
  alignas(64) std::byte place[64];
  auto* const task = reinterpret_cast<Task*>(place);  // only its address counts
  throttle.hold(task);
  EXPECT_TRUE(throttle.holds_any());
  EXPECT_EQ(throttle.take_held(), std::vector{task});
  EXPECT_FALSE(throttle.holds_any());
  EXPECT_TRUE(throttle.take_held().empty());
}

}  // namespace
}  // namespace dovetail::tasking
