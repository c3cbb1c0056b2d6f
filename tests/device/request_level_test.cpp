// What requests find out on devices whose speeds are known.
#include "device/request_level.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/clock.hpp"

namespace dovetail::device {
namespace {

constexpr Route ring{false, 16};

// Requests after which every search is over.
constexpr unsigned enough = 30000;

// A moment of the clock that only the test moves.
struct Time {
  std::uint64_t now = 0;
  void pass(double microseconds) {
    now += static_cast<std::uint64_t>(microseconds * static_cast<double>(base::ticks_per_microsecond()));
  }
};

// Lets `requests` requests of 4 KiB end on a device that needs `microseconds(route)` for each.
template <class Device>
void run(RequestLevel& level, Time& time, unsigned requests, unsigned outstanding, Device&& microseconds) {
  for (unsigned i = 0; i < requests; ++i) {
    time.pass(microseconds(level.route()));
    level.ended(time.now, 4096, outstanding);
  }
}

// What a device that works on `channels` requests at once, each for `microseconds`, needs for one at a depth. Threads are slow.
auto device(unsigned channels, double microseconds) {
  return [=](const Route& route) {
    return (route.threads ? 3.0 : 1.0) * microseconds / std::min<double>(channels, route.depth);
  };
}

auto by_way(double of_ring, double of_threads) {
  return [=](const Route& route) { return route.threads ? of_threads : of_ring; };
}

TEST(RequestLevel, BeginsWithTheFirstWay) {
  RequestLevel level(ring);
  EXPECT_EQ(level.route(), ring);
  EXPECT_FALSE(level.decided());
  EXPECT_EQ(level.found(), Level{});
}

TEST(RequestLevel, TakesThreadsWhereTheyAreClearlyFaster) {
  RequestLevel level(ring);
  Time time;
  run(level, time, enough, 12, by_way(20, 10));
  EXPECT_TRUE(level.route().threads);
}

TEST(RequestLevel, KeepsTheRingWhereThreadsAreHardlyFaster) {
  RequestLevel level(ring);
  Time time;
  run(level, time, enough, 12, by_way(20, 19));
  EXPECT_FALSE(level.route().threads);
}

TEST(RequestLevel, ThreadsThatWereLuckyTwiceOfThreeTimesAreNotTaken) {
  RequestLevel level(ring);
  Time time;
  unsigned trials = 0;  // by threads
  bool before = false;
  run(level, time, enough, 12, [&](const Route& route) {
    trials += route.threads && !before ? 1 : 0;
    before = route.threads;
    return !route.threads ? 20.0 : trials == 2 ? 22.0 : 15.0;
  });
  EXPECT_GE(trials, 3U);
  EXPECT_FALSE(level.route().threads);
}

TEST(RequestLevel, TriesNothingWithoutLoad) {
  RequestLevel level(ring);
  Time time;
  for (unsigned i = 0; i < enough; ++i) {
    run(level, time, 1, 2, by_way(20, 10));
    ASSERT_EQ(level.route(), ring);
  }
  EXPECT_FALSE(level.decided());
}

TEST(RequestLevel, GrowsTheDepthWhileThatMovesMore) {
  RequestLevel level(ring);
  Time time;
  run(level, time, enough, 1000, device(256, 20000));
  EXPECT_EQ(level.route(), (Route{false, 256}));
  EXPECT_TRUE(level.decided());
  EXPECT_EQ(level.found().at_once, 256U);
  EXPECT_NEAR(level.found().rate, 4096 * 256 / 20000.0, 1);
}

TEST(RequestLevel, ShrinksALongQueueWhileThatCostsNothing) {
  RequestLevel level(ring);
  Time time;
  run(level, time, enough, 500, device(4, 9000));
  EXPECT_EQ(level.route(), (Route{false, 4}));
  // Half of it would do on one channel, and takes 9 ms.
  RequestLevel slower(ring);
  run(slower, time, enough, 500, device(1, 4500));
  EXPECT_EQ(slower.route(), (Route{false, 2}));
}

// As deep as there is work for: completions that come together save processor time.
TEST(RequestLevel, AShortQueueIsAsDeepAsTheLoad) {
  RequestLevel level(ring);
  Time time;
  run(level, time, enough, 60, device(4, 100));
  EXPECT_EQ(level.route(), (Route{false, 64}));
  EXPECT_FALSE(level.decided()) << "more may come";
  run(level, time, enough, 120, device(4, 100));
  EXPECT_EQ(level.route(), (Route{false, 128}));
}

TEST(RequestLevel, ADepthThatHindersIsNotKept) {
  RequestLevel level(ring);
  Time time;
  run(level, time, enough, 500, [](const Route& route) { return route.threads ? 100.0 : route.depth <= 32 ? 10 : 11; });
  EXPECT_EQ(level.route(), (Route{false, 32}));
  EXPECT_TRUE(level.decided());
}

TEST(RequestLevel, TheDepthStaysWithinItsBounds) {
  RequestLevel deep(ring);
  Time time;
  run(deep, time, enough, 5000, device(100000, 10000));
  EXPECT_EQ(deep.route(), (Route{false, 1024}));
  RequestLevel shallow(ring);
  run(shallow, time, enough, 500, by_way(10001, 30000));
  EXPECT_EQ(shallow.route(), (Route{false, 1}));
  RequestLevel threads(ring);
  run(threads, time, enough, 5000, [](const Route& route) { return (route.threads ? 1000.0 : 3000.0) / route.depth; });
  EXPECT_EQ(threads.route(), (Route{true, 64}));
}

TEST(RequestLevel, OnceItHasFoundOutItLooksNoMore) {
  RequestLevel level(ring);
  Time time;
  run(level, time, enough, 500, device(16, 100000));
  ASSERT_TRUE(level.decided());
  const Route found = level.route();
  for (unsigned i = 0; i < 100000; ++i) {
    run(level, time, 1, 500, by_way(30, 1));
    ASSERT_EQ(level.route(), found);
  }
}

// Another load would be measured, not another way.
TEST(RequestLevel, WhenTheLoadGoesTheTrialIsBegunAgain) {
  RequestLevel level(ring);
  Time time;
  for (int turn = 0; turn < 100; ++turn) {
    run(level, time, 150, 12, by_way(20, 10));
    run(level, time, 150, 0, by_way(20, 10));
    ASSERT_EQ(level.route(), ring) << turn;
  }
  run(level, time, enough, 12, by_way(20, 10));
  EXPECT_TRUE(level.route().threads);
}

// Requests of a program that keeps so many under way. The device ends all that it has been given at one moment, and takes as long for each
// as for any other. So how deep its queue is makes no difference, and threads are no faster.
TEST(RequestLevel, MeasuresCrowdsWithTheGapsThatTheyFill) {
  for (const unsigned together : {24U, 64U, 100U}) {
    RequestLevel level(Route{false, 8});
    Time time;
    for (unsigned done = 0; done < enough;) {
      const unsigned crowd = std::min<unsigned>(together, level.route().depth);
      time.pass(crowd * 20.0);
      for (unsigned i = 0; i < crowd; ++i, ++done) {
        time.now += 1;
        level.ended(time.now, 4096, together - 1 - i);
      }
    }
    EXPECT_FALSE(level.route().threads) << together;
    EXPECT_NEAR(level.found().rate, 4096 / 20.0, 1) << together;
  }
}

TEST(RequestLevel, BeginsWhereItIsToldUnlessItHasBegun) {
  RequestLevel level(ring);
  level.begin_with(6);
  EXPECT_EQ(level.route(), (Route{false, 6}));
  Time time;
  run(level, time, enough, 500, device(6, 100000));
  EXPECT_EQ(level.route(), (Route{false, 6})) << "neither 3 nor 12";
  level.begin_with(40);
  EXPECT_EQ(level.route(), (Route{false, 6}));
}

TEST(RequestLevel, StaysWhereItIsFixed) {
  RequestLevel level(ring, true);
  Time time;
  level.begin_with(3);
  run(level, time, enough, 64, by_way(20, 5));
  EXPECT_EQ(level.route(), ring);
}

}  // namespace
}  // namespace dovetail::device
