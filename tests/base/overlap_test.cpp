// How much of the work in the background is hidden: what counts as under way, and what as waited for.
#include "base/overlap.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace dovetail::base {
namespace {

void pass_time() {
  const std::uint64_t begin = nanoseconds();
  while (nanoseconds() - begin < 1000) {
  }
}

TEST(Overlap, WorkThatNobodyWaitsForIsHidden) {
  Overlap overlap;
  {
    const Overlap::Work work(overlap);
    pass_time();
  }
  const Overlap::Wait waiting(overlap);  // for nothing that is under way
  pass_time();
  EXPECT_GE(overlap.times().under_way, 1000U);
  EXPECT_EQ(overlap.times().waited, 0U);
}

TEST(Overlap, TwoAtOnceTakeTheTimeOfOne) {
  Overlap overlap;
  const std::uint64_t begin = nanoseconds();
  {
    const Overlap::Wait first(overlap);
    const Overlap::Wait second(overlap);
    const Overlap::Work one(overlap);
    const Overlap::Work other(overlap);
    pass_time();
  }
  const Overlap::Times times = overlap.times();
  EXPECT_LE(times.under_way, nanoseconds() - begin);
  EXPECT_EQ(times.waited, times.under_way);
}

TEST(Overlap, WhatIsStillUnderWayCounts) {
  Overlap overlap;
  const Overlap::Work work(overlap);
  pass_time();
  const std::uint64_t before = overlap.times().under_way;
  pass_time();
  EXPECT_GT(overlap.times().under_way, before);
}

TEST(Overlap, BeginsAnew) {
  Overlap overlap;
  const auto work = std::make_unique<Overlap::Work>(overlap);
  pass_time();
  const std::uint64_t before = overlap.times().under_way;
  overlap.reset();
  pass_time();
  EXPECT_GE(overlap.times().under_way, 1000U) << "the work goes on";
  overlap.reset(true);
  pass_time();
  EXPECT_EQ(overlap.times().under_way, 0U) << "its thread does not exist";
  EXPECT_GE(before, 1000U);
}

}  // namespace
}  // namespace dovetail::base
