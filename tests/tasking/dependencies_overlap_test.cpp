// Order among tasks whose regions overlap without being the same.
#include <algorithm>

#include "support.hpp"

namespace dovetail::test {
namespace {

class DependenciesOverlapTest : public testing::TestWithParam<unsigned> {
 protected:
  void write(std::size_t begin, std::size_t count, int value) {
    runtime_.spawn({.access = {out(std::span(data_).subspan(begin, count))}}, [this, begin, count, value] {
      for (std::size_t i = begin; i < begin + count; ++i) {
        data_[i] = value;
        if (i % 16 == 0) {
          std::this_thread::yield();
        }
      }
    });
  }
  void expect(std::size_t begin, std::vector<int> values) {
    const std::size_t count = values.size();
    runtime_.spawn({.access = {in(std::span(data_).subspan(begin, count))}}, [this, begin, values = std::move(values)] {
      if (!std::equal(values.begin(), values.end(), data_.begin() + static_cast<std::ptrdiff_t>(begin))) {
        wrong_.fetch_add(1);
      }
    });
  }

  Runtime runtime_{Options{.workers = GetParam()}};
  std::vector<int> data_ = std::vector<int>(64, 0);
  std::atomic<int> wrong_{0};
};

INSTANTIATE_TEST_SUITE_P(Workers, DependenciesOverlapTest, testing::Values(1U, 2U, 4U));

TEST_P(DependenciesOverlapTest, PartOverlapsPart) {
  for (int round = 0; round < 100; ++round) {
    write(0, 8, 1);
    write(4, 8, 2);
    expect(0, {1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2});
    write(6, 1, 3);
    expect(5, {2, 3, 2});
  }
  runtime_.wait();
  EXPECT_EQ(wrong_.load(), 0);
}

TEST_P(DependenciesOverlapTest, WholeCoversParts) {
  for (int round = 0; round < 100; ++round) {
    for (std::size_t i = 0; i < 64; i += 4) {
      write(i, 4, static_cast<int>(i));
    }
    expect(2, {0, 0, 4, 4, 4, 4, 8});
    write(0, 64, -1);
    expect(10, {-1, -1, -1});
    expect(60, {-1, -1, -1, -1});
  }
  runtime_.wait();
  EXPECT_EQ(wrong_.load(), 0);
}

TEST_P(DependenciesOverlapTest, APartOfWhatWasWrittenWhole) {
  for (int round = 0; round < 100; ++round) {
    write(0, 64, 5);
    write(20, 10, 6);
    expect(18, {5, 5, 6, 6});
    expect(28, {6, 6, 5, 5});
    write(0, 64, 7);
    expect(25, {7});
  }
  runtime_.wait();
  EXPECT_EQ(wrong_.load(), 0);
}

TEST_P(DependenciesOverlapTest, NeighboursDoNotWait) {
  if (GetParam() < 2) {
    GTEST_SKIP() << "needs two workers";
  }
  write(0, 10, 1);
  write(5, 10, 1);
  runtime_.wait();
  std::latch both(2);
  runtime_.spawn({.access = {out(std::span(data_).subspan(0, 7))}}, [&] { both.arrive_and_wait(); });
  runtime_.spawn({.access = {out(std::span(data_).subspan(7, 3))}}, [&] { both.arrive_and_wait(); });
  runtime_.wait();
}

TEST_P(DependenciesOverlapTest, OverlappingReadersDoNotWait) {
  if (GetParam() < 2) {
    GTEST_SKIP() << "needs two workers";
  }
  write(0, 10, 1);
  std::latch both(2);
  runtime_.spawn({.access = {in(std::span(data_).subspan(0, 7))}}, [&] { both.arrive_and_wait(); });
  runtime_.spawn({.access = {in(std::span(data_).subspan(2, 8))}}, [&] { both.arrive_and_wait(); });
  runtime_.wait();
}

TEST_P(DependenciesOverlapTest, AWriterWaitsForAllOverlappingReaders) {
  std::atomic<int> read{0};
  for (int round = 0; round < 200; ++round) {
    read.store(0);
    for (std::size_t i = 0; i < 16; ++i) {
      runtime_.spawn({.access = {in(std::span(data_).subspan(i, 5 + i))}}, [&] {
        std::this_thread::yield();
        read.fetch_add(1);
      });
    }
    runtime_.spawn({.access = {out(std::span(data_).subspan(10, 10))}}, [&] {
      // Those that begin at 3 and later reach byte 10; 0 reaches up to 4, 1 to 6, 2 to 8.
      wrong_.fetch_add(read.load() >= 13 ? 0 : 1);
    });
    runtime_.wait();
  }
  EXPECT_EQ(wrong_.load(), 0);
}

TEST_P(DependenciesOverlapTest, OneTaskMayOverlapItself) {
  std::vector<int> order;
  for (int i = 0; i < 50; ++i) {
    runtime_.spawn({.access = {inout(std::span(data_).subspan(0, 8)), in(std::span(data_).subspan(4, 8)),
                               out(std::span(data_).subspan(2, 4))}},
                   [&, i] { order.push_back(i); });
  }
  runtime_.wait();
  ASSERT_EQ(order.size(), 50U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_P(DependenciesOverlapTest, RegionsOfVeryDifferentLengths) {
  std::vector<int> order;
  auto add = [&](std::uint64_t begin, std::uint64_t length, int number) {
    runtime_.spawn({.access = {inout(Region{9, begin, length})}}, [&order, number] { order.push_back(number); });
  };
  add(1ULL << 40, 1, 0);
  add(0, 1ULL << 62, 1);
  add((1ULL << 61) + 12345, 7, 2);
  add(1ULL << 61, 1ULL << 20, 3);
  add((1ULL << 61) + 12351, 1ULL << 59, 4);
  runtime_.wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace dovetail::test
