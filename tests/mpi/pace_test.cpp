// How often the library is asked.
#include "comm/mpi/pace.hpp"

#include "gtest/gtest.h"

namespace dovetail::comm::mpi {
namespace {

using namespace std::chrono_literals;

void poll_often(Interval& interval, std::chrono::nanoseconds took, bool found, std::chrono::nanoseconds waking = 0ns) {
  for (int i = 0; i < 200; ++i) {
    interval.polled(took, 1, waking, found, false, false);
  }
}

TEST(IntervalTest, PollsTakeABoundedShare) {
  Interval interval(-1ns);
  poll_often(interval, 2us, true);
  EXPECT_EQ(interval.now(), 200us);
  poll_often(interval, 1ms, false);
  EXPECT_EQ(interval.now(), 100ms) << "however long a poll takes";
}

TEST(IntervalTest, WakingTheThreadIsPartOfTheShare) {
  Interval interval(-1ns);
  poll_often(interval, 2us, false, 28us);
  EXPECT_EQ(interval.now(), 1500us);
  EXPECT_EQ(interval.looks(), 14U) << "as long as waking it";
  poll_often(interval, 2us, false, 5s);
  EXPECT_EQ(interval.now(), 2600us) << "it has done other things as well";
  interval.polled(2us, 1, 28us, true, false, false);
  EXPECT_EQ(interval.now(), 200us) << "more may come soon";
  poll_often(interval, 2us, false);
  EXPECT_EQ(interval.now(), Interval::longest) << "workers poll";
}

TEST(IntervalTest, APollThatWasInterruptedSaysNothing) {
  Interval interval(-1ns);
  poll_often(interval, 1us, true);
  interval.polled(8ms, 1, 0ns, true, false, false);
  EXPECT_LE(interval.now(), 115us);
  interval.polled(1us, 1, 0ns, true, false, false);
  EXPECT_EQ(interval.now(), 100us);
}

TEST(IntervalTest, CheapPollsComeAtMostEachTwentyMicroseconds) {
  Interval interval(-1ns);
  poll_often(interval, 10ns, true);
  EXPECT_EQ(interval.now(), Interval::shortest_of_all);
}

TEST(IntervalTest, InALongWaitTheyGetRareAndAFindEndsThat) {
  Interval interval(-1ns);
  poll_often(interval, 100ns, false);
  EXPECT_EQ(interval.now(), Interval::longest);
  interval.polled(100ns, 1, 0ns, true, false, false);
  EXPECT_EQ(interval.now(), Interval::shortest_of_all);
}

TEST(IntervalTest, WhileNoCoreComputesWhatComesNextIsFoundSoon) {
  Interval interval(-1ns);
  poll_often(interval, 5us, false, 25us);
  interval.polled(5us, 1, 25us, true, false, true);
  EXPECT_EQ(interval.now(), Interval::shortest_of_all);
  interval.polled(5us, 1, 25us, false, false, true);
  EXPECT_EQ(interval.now(), Interval::shortest_of_all * 5 / 4);
  interval.polled(5us, 1, 25us, false, false, false);
  EXPECT_EQ(interval.now(), 500us) << "one computes again";
}

TEST(IntervalTest, WhereTheyAreRareTheyLookAtMore) {
  Interval interval(-1ns);
  poll_often(interval, 2us, true);
  EXPECT_EQ(interval.looks(), 1U);
  poll_often(interval, 2us, false);
  EXPECT_EQ(interval.now(), 1ms);
  EXPECT_EQ(interval.looks(), 5U) << "as much in the share as before";
  for (int i = 0; i < 200; ++i) {
    interval.polled(interval.looks() * 100ns, interval.looks(), 0ns, false, false, false);
  }
  EXPECT_EQ(interval.looks(), Interval::most_looks);
  EXPECT_EQ(interval.now(), 1ms) << "what several looks take says what one takes";
}

TEST(IntervalTest, AFixedOneStaysWithinTheShare) {
  Interval interval(0ns);
  poll_often(interval, 1us, false);
  EXPECT_EQ(interval.now(), 100us);
  poll_often(interval, 1us, true, 19us);
  EXPECT_EQ(interval.now(), 1ms);
  Interval longer(5ms);
  poll_often(longer, 1us, true);
  EXPECT_EQ(longer.now(), 5ms);
}

TEST(IntervalTest, AFixedOneHoldsWhileCoresCompute) {
  Interval interval(5ms);
  poll_often(interval, 1us, true);
  interval.polled(1us, 1, 0ns, true, false, true);
  EXPECT_EQ(interval.now(), Interval::shortest_of_all)
      << "two ranks that wait for each other would take 5 ms a message";
  interval.polled(1us, 1, 0ns, false, false, false);
  EXPECT_EQ(interval.now(), 5ms) << "one computes again";
}

TEST(MovementTest, ALookThatTakesMuchLongerHasMovedData) {
  Movement movement;
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(movement.seen(300ns));
  }
  EXPECT_FALSE(movement.seen(10us)) << "it may have been interrupted";
  for (int i = 0; i < 30'000; ++i) {  // a message of 2 GiB in pieces of 64 KiB
    ASSERT_TRUE(movement.seen(10us));
  }
  EXPECT_FALSE(movement.seen(300ns));
}

TEST(MovementTest, WhereAllLooksTakeLongerThatIsUsualSomeTime) {
  Movement movement;
  EXPECT_FALSE(movement.seen(300ns));
  EXPECT_FALSE(movement.seen(10us));
  int looks = 0;
  while (movement.seen(10us)) {
    ASSERT_LT(++looks, 1'000'000);
  }
}

TEST(IntervalTest, APollThatMovedDataIsFollowedByAnotherSoonAndCostsNothing) {
  Interval interval(-1ns);
  for (int i = 0; i < 100; ++i) {
    interval.polled(300ns, 1, 0ns, false, false, false);
  }
  const auto rare = interval.now();
  for (int i = 0; i < 100; ++i) {
    interval.polled(100us, 1, 0ns, false, true, false);
  }
  EXPECT_LT(interval.now(), rare / 10);
}

}  // namespace
}  // namespace dovetail::comm::mpi
