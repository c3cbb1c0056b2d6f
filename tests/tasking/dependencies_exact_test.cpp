// Order among tasks that name the same regions: read after write, write after read, write after write.
#include <array>

#include "support.hpp"

namespace dovetail::test {
namespace {

class DependenciesExactTest : public testing::TestWithParam<unsigned> {
 protected:
  Runtime runtime_{Options{.workers = GetParam()}};
};

INSTANTIATE_TEST_SUITE_P(Workers, DependenciesExactTest, testing::Values(1U, 2U, 5U));

TEST_P(DependenciesExactTest, ReadAfterWrite) {
  for (int i = 0; i < 500; ++i) {
    int data = 0;
    std::atomic<int> right{0};
    runtime_.spawn({.access = {out(data)}}, [&] {
      std::this_thread::yield();
      data = 1;
    });
    for (int k = 0; k < 3; ++k) {
      runtime_.spawn({.access = {in(data)}}, [&] { right.fetch_add(data); });
    }
    runtime_.wait();
    ASSERT_EQ(right.load(), 3);
  }
}

TEST_P(DependenciesExactTest, WriteAfterRead) {
  for (int i = 0; i < 500; ++i) {
    int data = 5;
    std::atomic<int> wrong{0};
    for (int k = 0; k < 3; ++k) {
      runtime_.spawn({.access = {in(data)}}, [&] {
        std::this_thread::yield();
        wrong.fetch_add(data == 5 ? 0 : 1);
      });
    }
    runtime_.spawn({.access = {out(data)}}, [&] { data = 6; });
    runtime_.wait();
    ASSERT_EQ(wrong.load(), 0);
  }
}

TEST_P(DependenciesExactTest, WriteAfterWrite) {
  const std::size_t count = scaled(20'000, 2'000);
  std::vector<std::size_t> order;
  int token = 0;
  for (std::size_t i = 0; i < count; ++i) {
    runtime_.spawn({.access = {i % 2 == 0 ? out(token) : inout(token)}}, [&, i] { order.push_back(i); });
  }
  runtime_.wait();
  ASSERT_EQ(order.size(), count);
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(order[i], i);
  }
}

TEST_P(DependenciesExactTest, ReadersDoNotWaitForEachOther) {
  if (GetParam() < 2) {
    GTEST_SKIP() << "needs two workers";
  }
  // Each of the two blocks its worker until the other has started.
  int data = 1;
  std::latch both(2);
  for (int i = 0; i < 2; ++i) {
    runtime_.spawn({.access = {in(data)}}, [&] { both.arrive_and_wait(); });
  }
  runtime_.wait();
}

TEST_P(DependenciesExactTest, DifferentRegionsDoNotWaitForEachOther) {
  if (GetParam() < 2) {
    GTEST_SKIP() << "needs two workers";
  }
  std::array<int, 2> data{};
  std::latch both(2);
  for (int& element : data) {
    runtime_.spawn({.access = {inout(element)}}, [&] { both.arrive_and_wait(); });
  }
  runtime_.wait();
}

TEST_P(DependenciesExactTest, ManyAccessesOfOneTask) {
  const std::size_t regions = 100;
  std::vector<long> data(regions, 0);
  std::vector<Access> all;
  for (long& element : data) {
    all.push_back(inout(element));
  }
  std::atomic<int> wrong{0};
  for (int round = 0; round < 50; ++round) {
    for (long& element : data) {
      runtime_.spawn({.access = {inout(element)}}, [&] { ++element; });
    }
    runtime_.spawn({.access = AccessList(std::span<const Access>(all))}, [&, round] {
      for (long& element : data) {
        wrong.fetch_add(element == 2 * round + 1 ? 0 : 1);
        ++element;
      }
    });
  }
  runtime_.wait();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_P(DependenciesExactTest, TheSameRegionTwiceInOneTask) {
  int data = 0;
  int token = 0;
  std::vector<int> order;
  runtime_.spawn({.access = {out(token)}}, [&] { order.push_back(0); });
  runtime_.spawn({.access = {in(token), out(token)}}, [&] { order.push_back(1); });
  runtime_.spawn({.access = {out(token), in(token), inout(data)}}, [&] { order.push_back(2); });
  runtime_.spawn({.access = {inout(token), inout(token), inout(data), in(data)}}, [&] { order.push_back(3); });
  runtime_.spawn({.access = {in(token), in(token)}}, [&] {
    EXPECT_EQ(order.size(), 4U);
    data = 9;
  });
  runtime_.spawn({.access = {out(token)}}, [&] { order.push_back(data); });
  runtime_.wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 9}));
}

TEST_P(DependenciesExactTest, ARegionOfLengthZeroOrdersNothing) {
  if (GetParam() < 2) {
    GTEST_SKIP() << "needs two workers";
  }
  int data = 0;
  std::latch both(2);
  for (int i = 0; i < 2; ++i) {
    runtime_.spawn({.access = {inout(&data, 0)}}, [&] { both.arrive_and_wait(); });
  }
  runtime_.wait();
}

TEST_P(DependenciesExactTest, FileRegions) {
  // A file is a space of its own: the same numbers in another space mean something else.
  std::vector<int> order;
  const Region block{17, 4096, 4096};
  auto twice = [&](int number) { return [&order, number] { order.push_back(number); }; };
  runtime_.spawn({.access = {out(block)}}, twice(0));
  runtime_.spawn({.access = {inout(Region{17, 4000, 200})}}, twice(1));
  runtime_.spawn({.access = {inout(block)}}, twice(2));
  runtime_.spawn({.access = {in(Region{17, 8191, 1})}}, twice(3));
  runtime_.wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
  if (GetParam() >= 2) {
    std::latch both(2);
    runtime_.spawn({.access = {out(Region{17, 0, 10})}}, [&] { both.arrive_and_wait(); });
    runtime_.spawn({.access = {out(Region{18, 0, 10})}}, [&] { both.arrive_and_wait(); });
    runtime_.wait();
  }
}

TEST_P(DependenciesExactTest, TheEndsOfASpace) {
  constexpr std::uint64_t last = ~0ULL;
  std::vector<int> order;
  int token = 0;
  int number = 0;
  for (const Region& region : {Region{3, last, 1}, Region{3, last, 1}, Region{3, 0, 1}, Region{3, 0, last},
                               Region{3, 0, 1}, Region{3, last - 1, 1}}) {
    runtime_.spawn({.access = {inout(region), inout(token)}}, [&order, number] { order.push_back(number); });
    ++number;
  }
  runtime_.wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

TEST_P(DependenciesExactTest, TheLastByteOfASpaceOrders) {
  constexpr std::uint64_t last = ~0ULL;
  std::vector<int> order;
  for (int i = 0; i < 200; ++i) {
    runtime_.spawn({.access = {inout(Region{3, last, 1})}}, [&order, i] { order.push_back(i); });
  }
  runtime_.wait();
  ASSERT_EQ(order.size(), 200U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_P(DependenciesExactTest, NestedTasksHaveADomainOfTheirOwn) {
  // The children of two tasks that are ordered use the same data; children of one are ordered among themselves only.
  std::vector<int> order;
  int token = 0;
  for (int parent = 0; parent < 20; ++parent) {
    runtime_.spawn({.access = {inout(token)}}, [&order, &token, parent] {
      for (int child = 0; child < 5; ++child) {
        spawn({.access = {inout(token)}}, [&order, parent, child] { order.push_back(parent * 5 + child); });
      }
    });
  }
  runtime_.wait();
  ASSERT_EQ(order.size(), 100U);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  }
}

TEST_P(DependenciesExactTest, AChildDoesNotWaitForItsParent) {
  int data = 0;
  runtime_
      .spawn({.access = {inout(data)}},
             [&] {
               data = 1;
               spawn({.access = {inout(data)}}, [&] { ++data; }).get();
               ++data;
             })
      .get();
  EXPECT_EQ(data, 3);
}

TEST_P(DependenciesExactTest, SuccessorsWaitForChildrenAndEvents) {
  int data = 0;
  std::latch fulfilled(1);
  std::thread outside;
  runtime_.spawn({.access = {out(data)}}, [&] {
    Events& events = this_task::events();
    events.add();
    outside = std::thread([&] {
      fulfilled.wait();
      data += 10;
      events.fulfill();
    });
    spawn([&] {
      data += 1;
      fulfilled.count_down();
    });
  });
  int seen = 0;
  runtime_.spawn({.access = {in(data)}}, [&] { seen = data; });
  runtime_.wait();
  outside.join();
  EXPECT_EQ(seen, 11);
}

TEST_P(DependenciesExactTest, Wavefront) {
  const std::size_t side = scaled(150, 30);
  std::vector<std::vector<std::uint64_t>> field(side + 1, std::vector<std::uint64_t>(side + 1, 1));
  for (std::size_t i = 1; i <= side; ++i) {
    for (std::size_t j = 1; j <= side; ++j) {
      runtime_.spawn({.access = {in(field[i - 1][j]), in(field[i][j - 1]), out(field[i][j])}},
                     [&field, i, j] { field[i][j] = field[i - 1][j] + field[i][j - 1]; });
    }
  }
  runtime_.wait();
  std::vector<std::vector<std::uint64_t>> expected(side + 1, std::vector<std::uint64_t>(side + 1, 1));
  for (std::size_t i = 1; i <= side; ++i) {
    for (std::size_t j = 1; j <= side; ++j) {
      expected[i][j] = expected[i - 1][j] + expected[i][j - 1];
    }
  }
  EXPECT_EQ(field, expected);
}

}  // namespace
}  // namespace dovetail::test
