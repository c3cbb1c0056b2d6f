// Loops and sums over ranges.
#include "dovetail/parallel.hpp"

#include <limits>
#include <numeric>

#include "support.hpp"

namespace dovetail::test {
namespace {

// Any number of workers, of indices, and any size of pieces; pauses at random, so that others take what lies there.
TEST(ParallelTest, EveryIndexOnce) {
  for (std::uint64_t round = 0; round < scaled(200, 30); ++round) {
    Random random(round);
    Runtime runtime(Options{.workers = static_cast<unsigned>(random.between(1, 4))});
    const auto first = static_cast<int>(random.between(0, 50)) - 25;
    const auto length = static_cast<int>(random.between(0, 3000));
    const std::size_t chunk = random.between(0, 100);
    const bool yields = random.once_in(2);
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(length));
    runtime.parallel_for(
        first, first + length,
        [&](int i) {
          seen[static_cast<std::size_t>(i - first)].fetch_add(1);
          if (yields && i % 7 == 0) {
            this_task::yield();
          }
        },
        chunk);
    for (const std::atomic<int>& count : seen) {
      ASSERT_EQ(count.load(), 1) << "round " << round;
    }
  }
}

TEST(ParallelTest, PiecesAreNoLargerThanAskedForAndInOrder) {
  Runtime runtime(Options{.workers = 3});
  std::mutex mutex;
  std::vector<std::pair<std::size_t, std::size_t>> pieces;
  runtime.parallel_for(
      std::size_t{0}, std::size_t{10007},
      [&](std::size_t begin, std::size_t end) {
        const std::lock_guard lock(mutex);
        pieces.emplace_back(begin, end);
      },
      std::size_t{100});
  std::ranges::sort(pieces);
  std::size_t expected = 0;
  for (const auto& [begin, end] : pieces) {
    EXPECT_EQ(begin, expected);
    EXPECT_LE(end - begin, 100U);
    expected = end;
  }
  EXPECT_EQ(expected, 10007U);
}

// Without a helper, the range is worked through as by a loop.
TEST(ParallelTest, AscendingOnOneWorker) {
  Runtime runtime(Options{.workers = 1});
  std::vector<int> order;
  runtime.parallel_for(0, 1000, [&](int i) { order.push_back(i); }, 10);
  std::vector<int> expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

// All pieces are under way at once, on one core.
TEST(ParallelTest, PiecesThatPauseDoNotHoldUpOthers) {
  Runtime runtime(Options{.workers = 1});
  Barrier all(100);
  runtime.parallel_for(0, 100, [&](int /*i*/) { all.arrive_and_wait(); }, 1);
}

TEST(ParallelTest, TheSameDigitsOnAnyNumberOfWorkers) {
  std::vector<double> values(10000);
  Random random(1);
  for (double& value : values) {
    value = 1.0 / static_cast<double>(random.between(1, 1000000));
  }
  std::vector<double> sums;
  for (const unsigned workers : {1U, 2U, 3U, 4U}) {
    Runtime runtime(Options{.workers = workers});
    sums.push_back(runtime.parallel_reduce(
        std::size_t{0}, values.size(), 0.0,
        [&](std::size_t begin, std::size_t end) { return std::accumulate(&values[begin], &values[0] + end, 0.0); },
        std::plus<>(), std::size_t{64}));
  }
  EXPECT_EQ(sums, std::vector<double>(4, sums[0]));
}

// Each piece blocks its thread until others run: on as many cores as there are.
TEST(ParallelTest, OtherWorkersTakePart) {
  constexpr unsigned workers = 3;
  Runtime runtime(Options{.workers = workers});
  std::latch all(workers);
  runtime.parallel_for(0U, workers, [&](unsigned /*i*/) { all.arrive_and_wait(); }, 1);
}

TEST(ParallelTest, SumsInOrder) {
  for (std::uint64_t round = 0; round < scaled(100, 20); ++round) {
    Random random(round);
    Runtime runtime(Options{.workers = static_cast<unsigned>(random.between(1, 4))});
    const auto length = static_cast<int>(random.between(0, 500));
    const auto digits = [&](int begin, int end) {
      std::string text;
      for (int i = begin; i < end; ++i) {
        text += std::to_string(i) + ",";
      }
      if (length % 3 == 0 && this_task::active()) {
        this_task::yield();
      }
      return text;
    };
    const std::size_t chunk = random.between(0, 20);
    EXPECT_EQ(runtime.parallel_reduce(0, length, std::string(), digits, std::plus<>(), chunk), digits(0, length));
  }
}

TEST(ParallelTest, TheWholeRangeOfAType) {
  Runtime runtime(Options{.workers = 2});
  std::atomic<int> count{0};
  runtime.parallel_for(
      std::numeric_limits<std::int8_t>::min(), std::numeric_limits<std::int8_t>::max(),
      [&](std::int8_t /*i*/) { count.fetch_add(1); }, 1);
  EXPECT_EQ(count.load(), 255);
  constexpr auto least = std::numeric_limits<std::int64_t>::min();
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  const auto length = [](std::int64_t begin, std::int64_t end) {
    return static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
  };
  EXPECT_EQ(runtime.parallel_reduce(least, most, std::uint64_t{0}, length), std::numeric_limits<std::uint64_t>::max());
  runtime.parallel_for(5, 5, [](int /*i*/) { FAIL(); });
  runtime.parallel_for(5, -5, [](int /*i*/) { FAIL(); });
  EXPECT_EQ(runtime.parallel_reduce(5, 5, 42, [](int, int) { return 0; }), 42);
}

TEST(ParallelTest, WhatABodyThrowsComesOutAndNothingGoesOn) {
  for (std::uint64_t round = 0; round < scaled(100, 20); ++round) {
    Random random(round);
    Runtime runtime(Options{.workers = static_cast<unsigned>(random.between(1, 4))});
    const int bad = static_cast<int>(random.between(0, 999));
    std::atomic<int> inside{0};
    const auto body = [&](int i) {
      inside.fetch_add(1);
      if (i % 50 == 0) {
        this_task::yield();
      }
      inside.fetch_sub(1);
      if (i == bad) {
        throw std::out_of_range("bad");
      }
    };
    runtime
        .spawn([&] {
          EXPECT_ANY_THROW(parallel_for(0, 1000, body, 10));
          EXPECT_EQ(inside.load(), 0) << "a piece still runs";
        })
        .get();
    runtime.wait();
  }
}

TEST(ParallelTest, AnEndThatIsNoIndexIsRefused) {
  Runtime runtime(Options{.workers = 1});
  runtime
      .spawn([] {
        EXPECT_THROW(parallel_for(0, std::size_t{1} << 31, [](int /*i*/) { FAIL(); }), std::out_of_range);
        EXPECT_THROW(parallel_reduce(0U, -1, 0, [](unsigned, unsigned) { return 0; }), std::out_of_range);
      })
      .get();
}

TEST(ParallelTest, OutsideOfATask) {
  EXPECT_THROW(parallel_for(0, 10, [](int /*i*/) {}), std::logic_error);
  EXPECT_THROW(parallel_reduce(0, 10, 0, [](int, int) { return 1; }), std::logic_error);
}

TEST(ParallelTest, InAnIoTaskAndNested) {
  Runtime runtime(Options{.workers = 2});
  std::atomic<int> count{0};
  runtime
      .spawn({.io = true},
             [&] {
               parallel_for(
                   0, 20, [&](int /*i*/) { parallel_for(0, 20, [&](int /*j*/) { count.fetch_add(1); }, 1); }, 1);
             })
      .get();
  EXPECT_EQ(count.load(), 400);
}

}  // namespace
}  // namespace dovetail::test
