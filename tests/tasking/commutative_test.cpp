// Commutative accesses: any order, never two at once, and ordered like writes with everything else.
#include "support.hpp"

namespace dovetail::test {
namespace {

TEST(CommutativeTest, NeverTwoAtOnce) {
  for (unsigned workers = 1; workers <= 4; ++workers) {
    Runtime runtime(Options{.workers = workers});
    long plain = 0;
    std::atomic<int> inside{0};
    std::atomic<int> wrong{0};
    const std::size_t count = scaled(20'000, 2'000);
    for (std::size_t i = 0; i < count; ++i) {
      runtime.spawn({.access = {commutative(plain)}}, [&] {
        wrong.fetch_add(inside.fetch_add(1) == 0 ? 0 : 1);
        ++plain;
        inside.fetch_sub(1);
      });
    }
    runtime.wait();
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_EQ(plain, static_cast<long>(count));
  }
}

TEST(CommutativeTest, SpawnedByATask) {
  Runtime runtime(Options{.workers = 1});
  int shared = 0;
  int inside = 0;
  runtime.spawn([&] {
    for (int i = 0; i < 4; ++i) {
      spawn({.access = {commutative(shared)}}, [&] {
        EXPECT_EQ(inside++, 0);
        this_task::yield();  // the others run meanwhile, if they may
        --inside;
        ++shared;
      });
    }
  });
  runtime.wait();
  EXPECT_EQ(shared, 4);
}

TEST(CommutativeTest, AnyOrder) {
  // The first one is held back by something else; the second must not wait for it.
  Runtime runtime(Options{.workers = 2});
  int shared = 0;
  int other = 0;
  Gate gate;
  runtime.spawn({.access = {out(other)}}, [&] { gate.pass(); });
  std::vector<int> order;
  runtime.spawn({.access = {commutative(shared), in(other)}}, [&] { order.push_back(1); });
  runtime.spawn({.access = {commutative(shared)}}, [&] {
    order.push_back(2);
    gate.open();
  });
  runtime.wait();
  EXPECT_EQ(order, (std::vector<int>{2, 1}));
}

TEST(CommutativeTest, OrderedWithEverythingElse) {
  for (unsigned workers = 1; workers <= 4; ++workers) {
    Runtime runtime(Options{.workers = workers});
    long data = 0;
    std::atomic<int> wrong{0};
    for (long round = 0; round < 200; ++round) {
      runtime.spawn({.access = {out(data)}}, [&] { data = 0; });
      for (int i = 0; i < 3; ++i) {
        runtime.spawn({.access = {in(data)}}, [&] { wrong.fetch_add(data == 0 ? 0 : 1); });
      }
      for (int i = 0; i < 5; ++i) {
        runtime.spawn({.access = {commutative(data)}}, [&] { data += 2; });
      }
      if (round % 2 == 0) {
        for (int i = 0; i < 3; ++i) {
          runtime.spawn({.access = {in(data)}}, [&] { wrong.fetch_add(data == 10 ? 0 : 1); });
        }
      }
      if (round % 3 == 0) {
        for (int i = 0; i < 5; ++i) {
          runtime.spawn({.access = {commutative(data)}}, [&] { data += 1; });
        }
        runtime.spawn({.access = {inout(data)}}, [&] { wrong.fetch_add(data == 15 ? 0 : 1); });
      }
    }
    runtime.wait();
    EXPECT_EQ(wrong.load(), 0);
  }
}

TEST(CommutativeTest, SeveralRegionsPerTaskWithoutDeadlock) {
  for (std::uint64_t round = 0; round < scaled(10, 3); ++round) {
    Random random(round);
    Runtime runtime(Options{.workers = static_cast<unsigned>(random.between(1, 8))});
    constexpr std::size_t regions = 5;
    std::vector<long> data(regions, 0);
    std::vector<std::atomic<int>> inside(regions);
    std::vector<long> expected(regions, 0);
    std::atomic<int> wrong{0};
    for (std::size_t i = 0; i < scaled(5'000, 500); ++i) {
      std::vector<std::size_t> chosen;
      std::vector<Access> accesses;
      for (std::uint64_t k = random.between(1, 4); k > 0; --k) {
        const std::size_t region = random.between(0, regions - 1);  // the same one twice now and then
        accesses.push_back(commutative(data[region]));
        if (std::find(chosen.begin(), chosen.end(), region) == chosen.end()) {
          chosen.push_back(region);
          ++expected[region];
        }
      }
      runtime.spawn({.access = AccessList(std::span<const Access>(accesses))}, [&, chosen] {
        for (const std::size_t region : chosen) {
          wrong.fetch_add(inside[region].fetch_add(1) == 0 ? 0 : 1);
          ++data[region];
        }
        for (const std::size_t region : chosen) {
          inside[region].fetch_sub(1);
        }
      });
    }
    runtime.wait();
    EXPECT_EQ(data, expected);
    EXPECT_EQ(wrong.load(), 0);
  }
}

TEST(CommutativeTest, HeldUntilCompletion) {
  // Not only while the body runs: over pauses, children and events too.
  Runtime runtime(Options{.workers = 2});
  long data = 0;
  std::atomic<int> inside{0};
  std::atomic<int> wrong{0};
  for (int i = 0; i < 200; ++i) {
    runtime.spawn({.access = {commutative(data)}}, [&] {
      wrong.fetch_add(inside.fetch_add(1) == 0 ? 0 : 1);
      this_task::yield();
      spawn([&] {
        this_task::yield();
        inside.fetch_sub(1);
      });
    });
  }
  runtime.wait();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(CommutativeTest, OverlappingRegionsExcludeEachOtherToo) {
  Runtime runtime(Options{.workers = 4});
  std::vector<int> data(12, 0);
  for (std::size_t i = 0; i < scaled(5'000, 500); ++i) {
    runtime.spawn({.access = {commutative(std::span(data).subspan(i % 9, 4))}}, [&data, i] {
      for (std::size_t k = i % 9; k < i % 9 + 4; ++k) {
        ++data[k];
      }
    });
  }
  runtime.wait();
  std::vector<int> expected(12, 0);
  for (std::size_t i = 0; i < scaled(5'000, 500); ++i) {
    for (std::size_t k = i % 9; k < i % 9 + 4; ++k) {
      ++expected[k];
    }
  }
  EXPECT_EQ(data, expected);
}

TEST(CommutativeTest, AFailureReleasesTheOthers) {
  Runtime runtime(Options{.workers = 2});
  long data = 0;
  std::atomic<int> ran{0};
  for (int i = 0; i < 50; ++i) {
    runtime.spawn({.access = {commutative(data)}, .on_failure = ignore_failure}, [&, i] {
      ran.fetch_add(1);
      if (i % 3 == 0) {
        throw std::runtime_error("on purpose");
      }
    });
  }
  runtime.wait();
  EXPECT_EQ(ran.load(), 50);
}

}  // namespace
}  // namespace dovetail::test
