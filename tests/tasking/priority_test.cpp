// Priorities: a hint, which one worker with nothing else to choose from must follow.
#include <algorithm>
#include <iterator>
#include <span>

#include "support.hpp"

namespace dovetail::test {
namespace {

// Tasks that start before their turn by priority. One in eight may, where bodies have been long, so that nothing ready starves: with load beside, any
// body may be long.
std::size_t out_of_order(const std::vector<int>& ranks) {
  std::vector<int> longest;  // the least last rank of an ascending sequence of each length
  for (const int rank : ranks) {
    const auto place = std::ranges::lower_bound(longest, rank);
    if (place == longest.end()) {
      longest.push_back(rank);
    } else {
      *place = rank;
    }
  }
  return ranks.size() - longest.size();
}
std::size_t most_out_of_order(std::size_t tasks) { return tasks / 8 + 1; }

TEST(PriorityTest, HigherOnesStartFirst) {
  Runtime runtime(Options{.workers = 1});
  Gate spawned;
  std::vector<int> order;
  auto first = runtime.spawn([&] { spawned.pass(); });
  const std::vector<int> priorities{0, -3, 7, 2, -1, 7, 0, 100, -100};
  for (const int priority : priorities) {
    runtime.spawn({.priority = priority}, [&order, priority] { order.push_back(priority); });
  }
  spawned.open();
  runtime.wait();
  ASSERT_EQ(order.size(), priorities.size());
  // Two have the same priority.
  std::vector<int> ranks;
  for (std::size_t i = 0; i < order.size(); ++i) {
    ranks.push_back(-order[i] * 10 + static_cast<int>(std::ranges::count(std::span(order).first(i), order[i])));
  }
  EXPECT_LE(out_of_order(ranks), most_out_of_order(ranks.size())) << testing::PrintToString(order);
}

TEST(PriorityTest, OfTasksThatATaskSpawns) {
  Runtime runtime(Options{.workers = 1});
  std::vector<int> order;
  runtime.spawn([&] {
    for (const int priority : {1, 0, -1, 2}) {
      spawn({.priority = priority}, [&order, priority] { order.push_back(priority); });
    }
  });
  runtime.wait();
  EXPECT_EQ(order, (std::vector<int>{2, 1, 0, -1}));
}

TEST(PriorityTest, EqualOnesStartInOrder) {
  Runtime runtime(Options{.workers = 1});
  Gate spawned;
  std::vector<int> order;
  runtime.spawn([&] { spawned.pass(); });
  for (int i = 0; i < 30; ++i) {
    runtime.spawn({.priority = i % 2 == 0 ? 3 : -3}, [&order, i] { order.push_back(i); });
  }
  spawned.open();
  runtime.wait();
  ASSERT_EQ(order.size(), 30U);
  const auto is_low = [](int task) { return task % 2 != 0; };
  std::vector<int> by_priority = order;
  std::ranges::stable_partition(by_priority, [&](int task) { return !is_low(task); });
  for (int i = 0; i < 15; ++i) {
    EXPECT_EQ(by_priority[static_cast<std::size_t>(i)], 2 * i);
    EXPECT_EQ(by_priority[static_cast<std::size_t>(i) + 15], 2 * i + 1);
  }
  std::vector<int> ranks;
  std::ranges::transform(order, std::back_inserter(ranks), [&](int task) { return is_low(task) ? task + 30 : task; });
  EXPECT_LE(out_of_order(ranks), most_out_of_order(ranks.size()));
}

TEST(PriorityTest, DependenciesGoBeforePriorities) {
  Runtime runtime(Options{.workers = 2});
  std::vector<int> order;
  int data = 0;
  for (int i = 0; i < 100; ++i) {
    runtime.spawn({.access = {inout(data)}, .priority = i}, [&order, i] { order.push_back(i); });
  }
  runtime.wait();
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(order.size(), 100U);
}

TEST(PriorityTest, AllOfThemRunAndPause) {
  for (unsigned workers = 1; workers <= 4; ++workers) {
    Runtime runtime(Options{.workers = workers});
    std::atomic<int> done{0};
    const int count = static_cast<int>(scaled(5'000, 500));
    for (int i = 0; i < count; ++i) {
      runtime.spawn({.priority = i % 7 - 3}, [&] {
        this_task::yield();
        done.fetch_add(1);
      });
    }
    runtime.wait();
    EXPECT_EQ(done.load(), count);
  }
}

}  // namespace
}  // namespace dovetail::test
