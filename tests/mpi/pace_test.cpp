// How often the library is asked.
#include "comm/mpi/pace.hpp"

#include "gtest/gtest.h"

namespace dovetail::comm::mpi {
namespace {

using namespace std::chrono_literals;

TEST(IntervalTest, PollsTakeABoundedShare) {
  Interval interval(-1ns);
  for (int i = 0; i < 100; ++i) {
    interval.polled(2us, true);
  }
  EXPECT_GE(interval.now(), 95us);
  EXPECT_LE(interval.now(), 100us);
  for (int i = 0; i < 100; ++i) {
    interval.polled(1ms, false);
  }
  EXPECT_GE(interval.now(), 49ms) << "however long a poll takes";
}

TEST(IntervalTest, CheapPollsComeAtMostEachTwentyMicroseconds) {
  Interval interval(-1ns);
  for (int i = 0; i < 100; ++i) {
    interval.polled(10ns, true);
  }
  EXPECT_EQ(interval.now(), Interval::shortest_of_all);
}

TEST(IntervalTest, InALongWaitTheyGetRareAndAFindEndsThat) {
  Interval interval(-1ns);
  for (int i = 0; i < 100; ++i) {
    interval.polled(100ns, false);
  }
  EXPECT_EQ(interval.now(), Interval::longest);
  interval.polled(100ns, true);
  EXPECT_EQ(interval.now(), Interval::shortest_of_all);
}

TEST(IntervalTest, AFixedOneStays) {
  Interval interval(0ns);
  interval.polled(10us, false);
  EXPECT_EQ(interval.now(), 0ns);
}

TEST(LingerTest, IsGivenUpWhenInVainAndTriedAgain) {
  Linger linger(-1ns);
  for (unsigned i = 0; i < Linger::patience; ++i) {
    EXPECT_EQ(linger.ask(), Linger::usual);
    linger.ended(false);
  }
  unsigned trials = 0;
  for (unsigned i = 0; i < 10 * Linger::sleeps_between_trials; ++i) {
    if (linger.ask() > 0ns) {
      ++trials;
      linger.ended(false);
    }
  }
  EXPECT_EQ(trials, 10U);
  linger.ended(true);
  EXPECT_EQ(linger.ask(), Linger::usual) << "a success brings it back";
}

}  // namespace
}  // namespace dovetail::comm::mpi
