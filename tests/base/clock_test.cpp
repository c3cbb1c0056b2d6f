#include "base/clock.hpp"

#include <gtest/gtest.h>

namespace dovetail::base {
namespace {

TEST(ClockTest, TicksGoForward) {
  const std::uint64_t begin = ticks();
  const TimePoint until = Clock::now() + std::chrono::milliseconds(1);
  while (Clock::now() < until) {
  }
  EXPECT_GT(ticks(), begin);
}

TEST(ClockTest, TheRateIsMeasuredOnce) {
  const std::uint64_t rate = ticks_per_microsecond();
  EXPECT_GE(rate, 1U);
  EXPECT_LT(rate, 100'000U) << "no clock ticks at 100 GHz";
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(ticks_per_microsecond(), rate);
  }
}

}  // namespace
}  // namespace dovetail::base
