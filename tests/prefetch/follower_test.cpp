// Where a program is in its plan is found from its reads; a program that takes another way is let go.
#include "prefetch/follower.hpp"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "plan_memory.hpp"
#include "prefetch/advice.hpp"

namespace dovetail::prefetching {
namespace {

constexpr std::uint64_t run_bytes = 4096;

std::vector<PlanMemory::Run> strides(std::uint64_t count, std::uint64_t stride) {
  std::vector<PlanMemory::Run> runs;
  for (std::uint64_t i = 0; i < count; ++i) {
    runs.push_back({i * stride, run_bytes});
  }
  return runs;
}
std::uint32_t cursor(const FilePlan& plan) { return plan.progress->cursor.load(); }
bool given_up(const FilePlan& plan) { return plan.progress->given_up.load() != 0; }

TEST(Follower, CountsTheReadsThatTookLongerThanFromMemory) {
  PlanMemory memory;
  const FilePlan plan = memory.file(strides(1, run_bytes)).only();
  count_read(plan, 1000, 101'000);  // a system call, and a nanosecond for each byte
  EXPECT_EQ(plan.progress->counts.waited.load(), 0U);
  count_read(plan, 1000, 101'001);
  count_read(plan, 0, 200'000);
  EXPECT_EQ(plan.progress->counts.reads.load(), 3U);
  EXPECT_EQ(plan.progress->counts.waited.load(), 2U);
  EXPECT_EQ(plan.progress->counts.nanoseconds.load(), 301'001U);
}

// What others have written into the shared memory meanwhile.
TEST(Follower, CountsNothingOfAPlanThatIsNotThere) { count_read(FilePlan{}, 1000, 1'000'000); }

TEST(Follower, OfAFileThatIsLeftToTheSystemItSaysThatTheProgramHasComeToIt) {
  PlanMemory memory;
  const FilePlan plan = memory.file({}).only();
  EXPECT_EQ(cursor(plan), 0U);
  EXPECT_EQ(follow(plan, 0, run_bytes), Followed::over);
  EXPECT_EQ(cursor(plan), 1U);
  EXPECT_FALSE(wants_advice(plan));
  EXPECT_EQ(follow(FilePlan{}, 0, run_bytes), Followed::over);
}

TEST(Follower, GoesOnWithTheProgram) {
  PlanMemory memory;
  const FilePlan plan = memory.file(strides(300, 10 * run_bytes)).only();
  for (std::uint32_t i = 0; i < 300; ++i) {
    EXPECT_EQ(follow(plan, i * 10 * run_bytes, run_bytes) == Followed::over, i == 299);
    EXPECT_EQ(cursor(plan), i + 1);
  }
  EXPECT_FALSE(given_up(plan));
}

TEST(Follower, KnowsTheRunInTheMiddleOfWhichTheProgramIs) {
  PlanMemory memory;
  const FilePlan plan = memory.file({{8192, 8192}, {0, 4096}}).only();
  follow(plan, 8192, 4096);
  EXPECT_EQ(cursor(plan), 0U);
  follow(plan, 12288, 4096);
  EXPECT_EQ(cursor(plan), 1U);
  follow(plan, 0, 4096);
  EXPECT_EQ(cursor(plan), 2U);
}

TEST(Follower, KnowsAReadOfMoreThanWhatIsNeededNext) {
  PlanMemory memory;
  const FilePlan plan = memory.file({{0, 4096}, {4096, 4096}, {8192, 8192}, {20480, 4096}}).only();
  follow(plan, 0, 12288);
  EXPECT_EQ(cursor(plan), 2U);
  EXPECT_EQ(plan.come_to[0].load() + plan.come_to[1].load() + plan.come_to[2].load(), 3);
  follow(plan, 12288, 4096);
  EXPECT_EQ(cursor(plan), 3U);
  EXPECT_EQ(plan.progress->strayed.load(), 0);
}

TEST(Follower, GivesUpAfterAFewReadsThatThePlanDoesNotHave) {
  PlanMemory memory;
  const FilePlan plan = memory.file(strides(100, 10 * run_bytes)).only();
  int reads = 0;
  while (follow(plan, run_bytes * (2 + 10 * static_cast<std::uint64_t>(reads)), run_bytes) != Followed::over) {
    ++reads;
  }
  EXPECT_EQ(reads, most_strays);
  EXPECT_EQ(follow(plan, 0, run_bytes), Followed::over);
}

TEST(Follower, BearsAReadBesideThePlanNowAndThen) {
  PlanMemory memory;
  const FilePlan plan = memory.file(strides(1000, 10 * run_bytes)).only();
  for (std::uint64_t i = 0; i < 1000; ++i) {
    follow(plan, i * 10 * run_bytes, run_bytes);
    if (i % 3 == 0) {
      follow(plan, i * 10 * run_bytes + 5 * run_bytes, run_bytes);
    }
  }
  EXPECT_FALSE(given_up(plan));
}

TEST(Follower, BearsThatAProgramReadsAgain) {
  PlanMemory memory;
  const FilePlan plan = memory.file(strides(500, run_bytes)).only();
  for (int pass = 0; pass < 3; ++pass) {
    for (std::uint64_t i = 0; i < 500; ++i) {
      follow(plan, i * run_bytes, run_bytes);
    }
  }
  EXPECT_FALSE(given_up(plan));
  EXPECT_TRUE(is_over(plan));
}

// Reads the runs from `first` up to `end`. Returns the number of the first one behind whose read advice was due; `end`: none.
std::uint32_t read(const FilePlan& plan, std::uint32_t first, std::uint32_t end) {
  std::uint32_t due = end;
  for (std::uint32_t i = first; i < end; ++i) {
    if (follow(plan, plan.extents[i].offset, plan.extents[i].bytes) == Followed::wants) {
      due = std::min(due, i);
      Advice advice;
      for (advice.take(plan); !advice.empty(); advice.take(plan)) {
        for (const Range& range : advice) {
          plan.progress->asked += range.end - range.offset;
        }
      }
    }
  }
  return due;
}

TEST(Follower, BeginsAgainWithTheProgram) {
  PlanMemory memory;
  memory.window = 40 * run_bytes;
  const FilePlan plan = memory.file(strides(500, 10 * run_bytes)).only();
  EXPECT_EQ(read(plan, 0, 500), 0U);
  const std::uint64_t asked = plan.progress->asked.load();
  for (std::uint64_t pass = 2; pass < 5; ++pass) {
    EXPECT_TRUE(may_begin_again(plan));
    EXPECT_EQ(read(plan, 0, runs_of_a_new_pass), runs_of_a_new_pass - 1) << "three runs are not enough";
    EXPECT_GT(ahead(plan), memory.window / 2);
    for (std::uint32_t i = runs_of_a_new_pass; i < 450; ++i) {
      read(plan, i, i + 1);
      EXPECT_GT(ahead(plan), memory.window / 2 - 2 * run_bytes) << "as far ahead as in the first pass, at run " << i;
    }
    read(plan, 450, 500);
    EXPECT_EQ(plan.progress->asked.load(), asked + (pass - 1) * (500 - runs_of_a_new_pass) * run_bytes);
    EXPECT_TRUE(is_over(plan) && !given_up(plan));
  }
}

TEST(Follower, AsksForNothingWhereTheProgramReadsAgainInAnotherOrder) {
  std::mt19937_64 random(7);
  PlanMemory memory;
  const FilePlan plan = memory.file(strides(2000, 10 * run_bytes)).only();
  read(plan, 0, 2000);
  for (int i = 0; i < 20'000; ++i) {
    // Where a pass begins, time and again.
    const std::uint64_t run = i % 5 == 0 ? 0 : random() % 2000;
    EXPECT_EQ(follow(plan, run * 10 * run_bytes, run_bytes), Followed::over);
  }
  EXPECT_FALSE(given_up(plan)) << "it may still come";
  EXPECT_EQ(read(plan, 0, 2000), runs_of_a_new_pass - 1);
}

TEST(Follower, GivesUpAnotherPassThatTakesAnotherWay) {
  PlanMemory memory;
  const FilePlan plan = memory.file(strides(500, 10 * run_bytes)).only();
  read(plan, 0, 500);
  read(plan, 0, 20);
  std::uint64_t reads = 0;
  while (follow(plan, (5 + 10 * reads) * run_bytes, run_bytes) != Followed::over) {
    ++reads;
  }
  EXPECT_EQ(reads, most_strays);
  EXPECT_TRUE(given_up(plan) && !may_begin_again(plan));
}

TEST(Follower, CountsTheFirstPassAlone) {
  PlanMemory memory;
  const FilePlan plan = memory.file(strides(100, run_bytes)).only();
  for (std::uint64_t pass = 0; pass < 3; ++pass) {
    for (std::uint64_t i = 0; i < 100; ++i) {
      count_read(plan, run_bytes, 1'000'000);
      follow(plan, i * run_bytes, run_bytes);
    }
    EXPECT_EQ(plan.progress->counts.reads.load(), 100U);
  }
}

TEST(Follower, APlanOfFewRunsIsOverForGood) {
  PlanMemory memory;
  const FilePlan plan = memory.file(strides(runs_of_a_new_pass - 1, 10 * run_bytes)).only();
  read(plan, 0, plan.count);
  EXPECT_FALSE(may_begin_again(plan));
  EXPECT_EQ(read(plan, 0, plan.count), plan.count);
}

TEST(Follower, GivesUpWhereTheProgramReadsTheSameInAnotherOrder) {
  std::mt19937_64 random(5);
  std::vector<PlanMemory::Run> runs = strides(2000, 2 * run_bytes);
  std::ranges::shuffle(runs, random);
  PlanMemory memory;
  const FilePlan plan = memory.file(runs).only();
  std::uint64_t reads = 0;
  while (reads < 2000 && follow(plan, reads * 2 * run_bytes, run_bytes) != Followed::over) {
    ++reads;
  }
  EXPECT_LT(reads, 100U);
}

TEST(Follower, BearsThreadsThatReadSideBySide) {
  PlanMemory memory;
  const FilePlan plan = memory.file(strides(4000, run_bytes)).only();
  std::atomic<std::uint64_t> next{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t mine = next++; mine < 4000; mine = next++) {
        follow(plan, mine * run_bytes, run_bytes);
        Advice advice;
        advice.take(plan);
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(plan.progress->issued.load(), 4000U);
  EXPECT_LE(plan.progress->cursor.load(), 4000U);
}

TEST(Follower, SaysNothingOfReadsBehindTheEndOrOfNothing) {
  PlanMemory memory;
  const FilePlan plan = memory.file(strides(10, run_bytes)).only();
  for (int i = 0; i < 50; ++i) {
    EXPECT_NE(follow(plan, PlanMemory::size + 5, 10), Followed::over);
    EXPECT_NE(follow(plan, 0, 0), Followed::over);
    EXPECT_NE(follow(plan, 5 * run_bytes - 1, 1), Followed::over);
  }
}

TEST(Advice, IsSortedAndGapsThatCostLessThanARequestAreFilled) {
  PlanMemory memory;
  memory.gap = 4096;
  const FilePlan plan = memory.file({{40960, 4096}, {0, 4096}, {8192, 4096}, {20480, 4096}}).only();
  Advice advice;
  advice.take(plan);
  const std::vector<Range> ranges(advice.begin(), advice.end());
  ASSERT_EQ(ranges.size(), 3U);
  EXPECT_EQ(ranges[0].offset, 0U);
  EXPECT_EQ(ranges[0].end, 12288U);
  EXPECT_EQ(ranges[1].offset, 20480U);
  EXPECT_EQ(ranges[2].offset, 40960U);
  advice.take(plan);
  EXPECT_TRUE(advice.empty());
}

TEST(Advice, StaysWithinTheWindow) {
  PlanMemory memory;
  memory.window = 10 * run_bytes;
  const FilePlan plan = memory.file(strides(200, 3 * run_bytes)).only();
  std::uint64_t advised = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    Advice advice;
    for (advice.take(plan); !advice.empty(); advice.take(plan)) {
      for (const Range& range : advice) {
        advised += range.end - range.offset;
      }
      EXPECT_LE(ahead(plan), memory.window);
    }
    EXPECT_GE(advised, (i + 1) * run_bytes) << "advice must come before the read";
    follow(plan, i * 3 * run_bytes, run_bytes);
  }
  EXPECT_EQ(advised, 200 * run_bytes);
}

TEST(Advice, TakesLessAtATimeWhereTheWindowHasNoRoomForTheGaps) {
  PlanMemory memory;
  memory.window = 40 * run_bytes;
  memory.gap = 100 * run_bytes;
  const FilePlan plan = memory.file(strides(20, 10 * run_bytes)).only();
  Advice advice;
  advice.take(plan);
  std::uint64_t asked = 0;
  for (const Range& range : advice) {
    asked += range.end - range.offset;
  }
  // Four runs with three gaps of nine. With a fifth one it would be 41.
  EXPECT_EQ(asked, 31 * run_bytes);
  EXPECT_EQ(advice.end() - advice.begin(), 1);
  plan.progress->asked = asked;
  advice.take(plan);
  EXPECT_TRUE(advice.empty()) << "more than half of the window lies ahead, with the gaps";
  follow(plan, 10 * run_bytes, run_bytes);
  advice.take(plan);
  ASSERT_FALSE(advice.empty());
  EXPECT_EQ(advice.begin()->offset, 40 * run_bytes);
}

TEST(Advice, OfARunThatIsLargerThanTheWindowIsGivenAllTheSame) {
  PlanMemory memory;
  memory.window = 4096;
  const FilePlan plan = memory.file({{0, 1 << 20}, {1 << 21, 1 << 20}}).only();
  Advice advice;
  advice.take(plan);
  ASSERT_FALSE(advice.empty());
  EXPECT_EQ(advice.begin()->end, 1U << 20);
  advice.take(plan);
  EXPECT_TRUE(advice.empty());
}

TEST(Advice, BeginsWhereAProgramIsThatHasLeftSomethingOut) {
  PlanMemory memory;
  memory.window = 4 * run_bytes;
  const FilePlan plan = memory.file(strides(500, run_bytes)).only();
  follow(plan, 300 * run_bytes, run_bytes);
  Advice advice;
  advice.take(plan);
  ASSERT_FALSE(advice.empty());
  EXPECT_EQ(advice.begin()->offset, 301 * run_bytes);
}

}  // namespace
}  // namespace dovetail::prefetching
