// How much of its time a worker is found to be awake.
#include "tasking/occupancy.hpp"

#include "base/clock.hpp"
#include "support.hpp"

namespace dovetail::tasking {
namespace {

class OccupancyTest : public ::testing::Test {
 protected:
  // Awake and asleep in turn, in microseconds. Returns how often the share was determined.
  unsigned live(unsigned turns, std::uint64_t awake, std::uint64_t asleep) {
    unsigned determined = 0;
    for (unsigned i = 0; i < turns; ++i) {
      pass(awake);
      occupancy_.falls_asleep(now_);
      pass(asleep);
      slept_ = occupancy_.wakes(now_);
      determined += occupancy_.window_ends(now_) ? 1 : 0;
    }
    return determined;
  }
  void pass(std::uint64_t microseconds) { now_ += microseconds * base::ticks_per_microsecond(); }
  std::uint32_t percent() const { return occupancy_.percent(now_); }

  Occupancy occupancy_;
  std::uint64_t now_ = base::ticks();
  bool slept_ = false;
};

TEST_F(OccupancyTest, IsBusyUntilItIsKnown) { EXPECT_EQ(percent(), 100U); }

TEST_F(OccupancyTest, IsTheShareOfTheLastWindow) {
  EXPECT_GT(live(100, 10, 90), 2U);
  EXPECT_NEAR(percent(), 10, 2);
  live(100, 60, 40);
  EXPECT_NEAR(percent(), 60, 2);
}

TEST_F(OccupancyTest, IsDeterminedOnceAMillisecond) { EXPECT_LE(live(1000, 1, 9), 11U); }

TEST_F(OccupancyTest, WhatIsOverAtOnceIsNoSleep) {
  live(100, 10, 90);
  const std::uint64_t woke = occupancy_.woke();
  live(1000, 2, 2);
  EXPECT_FALSE(slept_);
  EXPECT_EQ(occupancy_.woke(), woke);
  EXPECT_EQ(percent(), 100U);
}

TEST_F(OccupancyTest, WhoHasNotSleptForLongIsBusy) {
  live(100, 10, 90);
  pass(9'000);
  EXPECT_LT(percent(), 15U);
  pass(2'000);
  EXPECT_EQ(percent(), 100U);
}

}  // namespace
}  // namespace dovetail::tasking
