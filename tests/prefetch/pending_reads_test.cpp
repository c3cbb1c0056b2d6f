// Which task is read ahead for next: the first that was spawned, fits the window and waits for no pending writer.
#include "prefetch/pending_reads.hpp"

#include <gtest/gtest.h>

#include <optional>

#include "device/support.hpp"

namespace dovetail::prefetching {
namespace {

using Task = std::shared_ptr<PendingTask>;

class PendingReadsTest : public testing::Test {
 protected:
  Task enter(std::vector<FilePart> reads, std::vector<FilePart> writes = {}) {
    auto task = std::make_shared<PendingTask>();
    task->reads = std::move(reads);
    task->writes = std::move(writes);
    pending_.enter(task);
    return task;
  }
  PendingReads pending_;
};

TEST_F(PendingReadsTest, TasksComeInTheOrderOfTheirSpawns) {
  const Task first = enter({{1, {900, 100}}});
  const Task second = enter({{1, {0, 100}}, {2, {0, 50}}});
  EXPECT_TRUE(pending_.is_due(1000));
  EXPECT_EQ(pending_.take(1000), first);
  EXPECT_EQ(pending_.take(1000), second);
  EXPECT_EQ(pending_.take(1000), nullptr);
  EXPECT_FALSE(pending_.is_due(1000));
  EXPECT_EQ(pending_.ahead(), 250U);
}

TEST_F(PendingReadsTest, ATaskThatHasBegunIsNotReadForAnyMore) {
  const Task first = enter({{1, {0, 100}}});
  const Task second = enter({{1, {100, 100}}});
  pending_.begins(*first);
  EXPECT_EQ(pending_.take(1000), second);
  pending_.begins(*second);
  pending_.begins(*second);
  EXPECT_EQ(pending_.ahead(), 0U);
  pending_.ends(*first);
  pending_.ends(*second);
  EXPECT_EQ(pending_.ahead(), 0U);
}

TEST_F(PendingReadsTest, AfterItWasFullAnEighthOfTheWindowHasToBeFree) {
  std::vector<Task> tasks;
  for (std::uint64_t i = 0; i < 20; ++i) {
    tasks.push_back(enter({{1, {i * 100, 100}}}));
  }
  for (int i = 0; i < 16; ++i) {
    EXPECT_NE(pending_.take(1600), nullptr);
  }
  EXPECT_FALSE(pending_.is_due(1600));
  EXPECT_EQ(pending_.take(1600), nullptr);
  EXPECT_FALSE(pending_.is_due(1600));
  pending_.begins(*tasks[0]);
  EXPECT_FALSE(pending_.is_due(1600));
  pending_.begins(*tasks[1]);
  EXPECT_TRUE(pending_.is_due(1600));
  EXPECT_EQ(pending_.take(1600), tasks[16]);
}

TEST_F(PendingReadsTest, NothingIsDueThatHasNoRoomYet) {
  const Task first = enter({{1, {0, 40}}});
  const Task second = enter({{1, {40, 40}}});
  EXPECT_EQ(pending_.take(64), first);
  EXPECT_EQ(pending_.take(64), nullptr);
  EXPECT_FALSE(pending_.is_due(64)) << "whoever asks would find nothing, again and again";
  pending_.begins(*first);
  EXPECT_TRUE(pending_.is_due(64));
  EXPECT_EQ(pending_.take(64), second);
}

TEST_F(PendingReadsTest, WhatDoesNotFitKeepsNothingBack) {
  enter({{1, {0, 5000}}});
  const Task second = enter({{1, {0, 100}}});
  EXPECT_EQ(pending_.take(1000), second);
}

TEST_F(PendingReadsTest, WhatIsToBeLeftIsLeftAndNotAskedAboutAgain) {
  const Task first = enter({{1, {0, 100}}});
  const Task second = enter({{1, {100, 100}}});
  EXPECT_EQ(pending_.take(1000, [&](const PendingTask& task) { return &task == first.get(); }), second);
  EXPECT_EQ(pending_.take(1000), nullptr);
  pending_.begins(*first);
  EXPECT_EQ(pending_.ahead(), 100U);
}

TEST_F(PendingReadsTest, AReaderWaitsForTheWritersBeforeIt) {
  const Task before = enter({{1, {50, 100}}});
  const Task writer = enter({}, {{1, {0, 100}}});
  const Task reader = enter({{1, {50, 100}}});
  const Task elsewhere = enter({{1, {100, 100}}, {2, {0, 100}}});
  EXPECT_EQ(pending_.take(1000), before);
  EXPECT_EQ(pending_.take(1000), elsewhere);
  EXPECT_EQ(pending_.take(1000), nullptr);
  pending_.begins(*writer);
  EXPECT_EQ(pending_.take(1000), nullptr);
  pending_.ends(*writer);
  EXPECT_EQ(pending_.take(1000), reader);
}

TEST_F(PendingReadsTest, OfWritersOfOneRegionTheLastCounts) {
  const Task first = enter({}, {{1, {0, 100}}});
  const Task second = enter({}, {{1, {0, 100}}});
  const Task reader = enter({{1, {0, 10}}});
  pending_.ends(*first);
  EXPECT_EQ(pending_.take(1000), nullptr);
  pending_.ends(*second);
  EXPECT_EQ(pending_.take(1000), reader);
  EXPECT_EQ(enter({{1, {0, 10}}})->writers, 0U);
}

TEST_F(PendingReadsTest, BehindMoreWritersThanAreLookedAtNothingIsRead) {
  std::vector<Task> writers;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    writers.push_back(enter({}, {{1, {i, 1}}}));
  }
  enter({{1, {0, 1000}}});
  for (const Task& writer : writers) {
    pending_.ends(*writer);
  }
  EXPECT_EQ(pending_.take(10000), nullptr);
}

// Against what is written down in the simplest way.
TEST_F(PendingReadsTest, RandomTasksAreTakenAsTheRuleSays) {
  std::mt19937_64 random(test::seed());
  struct Simple {
    Task task;
    FilePart reads;
    std::optional<FilePart> writes;
    std::vector<std::size_t> after;
    bool taken = false;
    bool begun = false;
    bool ended = false;
  };
  constexpr std::uint64_t window = 64;
  std::vector<Simple> all;
  std::uint64_t ahead = 0;
  for (int step = 0; step < 3000; ++step) {
    const unsigned what = random() % 4;
    if (what == 0) {
      Simple made;
      made.reads = {random() % 2, {random() % 100, 1 + random() % 8}};
      if (random() % 2 == 0) {
        made.writes = FilePart{random() % 2, {random() % 100, 1 + random() % 8}};
      }
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto& other = all[i];
        if (!other.ended && other.writes && other.writes->space == made.reads.space &&
            other.writes->range.overlaps(made.reads.range)) {
          const bool replaced =
              std::any_of(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end(), [&](auto& later) {
                return later.writes && later.writes->space == other.writes->space &&
                       later.writes->range == other.writes->range;
              });
          if (!replaced) {
            made.after.push_back(i);
          }
        }
      }
      made.task = enter({made.reads}, made.writes ? std::vector{*made.writes} : std::vector<FilePart>{});
      all.push_back(std::move(made));
    } else if (what == 1 && !all.empty()) {
      Simple& chosen = all[all.size() - 1 - random() % std::min<std::size_t>(all.size(), 20)];
      if (!chosen.begun) {
        chosen.begun = true;
        ahead -= chosen.taken ? chosen.reads.range.length : 0;
        pending_.begins(*chosen.task);
      } else if (!chosen.ended) {
        chosen.ended = true;
        pending_.ends(*chosen.task);
      }
    } else {
      const auto expected = std::ranges::find_if(all, [&](const Simple& each) {
        return !each.taken && !each.begun &&
               std::ranges::all_of(each.after, [&](std::size_t writer) { return all[writer].ended; });
      });
      const bool fits = expected != all.end() && ahead + expected->reads.range.length <= window;
      ASSERT_EQ(pending_.take(window), fits ? expected->task : nullptr) << "step " << step;
      if (fits) {
        expected->taken = true;
        ahead += expected->reads.range.length;
      }
      ASSERT_EQ(pending_.ahead(), ahead);
    }
  }
}

}  // namespace
}  // namespace dovetail::prefetching
