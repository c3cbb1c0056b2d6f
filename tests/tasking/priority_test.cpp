// Priorities: a hint, which one worker with nothing else to choose from must follow.
#include <algorithm>

#include "support.hpp"

namespace dovetail::test {
namespace {

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
  std::vector<int> expected = priorities;
  std::sort(expected.begin(), expected.end(), std::greater<>());
  EXPECT_EQ(order, expected);
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
  for (int i = 0; i < 15; ++i) {
    EXPECT_EQ(order[static_cast<std::size_t>(i)], 2 * i);
    EXPECT_EQ(order[static_cast<std::size_t>(i) + 15], 2 * i + 1);
  }
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
