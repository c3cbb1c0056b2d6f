// What is due is done, once, in the order of its times.
#include "tasking/timers.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace dovetail::tasking {
namespace {

using std::chrono::hours;
constexpr std::chrono::minutes half_an_hour{30};

class TimersTest : public testing::Test {
 protected:
  Timers::Added add(base::TimePoint deadline, int number) {
    return timers_.call_at(deadline, [this, number] { done_.push_back(number); });
  }

  const base::TimePoint past_ = base::Clock::now() - hours(1);
  const base::TimePoint future_ = base::Clock::now() + hours(1);
  Timers timers_;
  std::vector<int> done_;
};

TEST_F(TimersTest, OnlyWhatIsDueIsDoneEarliestFirst) {
  EXPECT_TRUE(timers_.empty());
  EXPECT_TRUE(add(future_, 3).earliest);
  EXPECT_TRUE(add(past_ + half_an_hour, 2).earliest);
  EXPECT_TRUE(add(past_, 1).earliest);
  EXPECT_FALSE(add(past_ + half_an_hour, 22).earliest) << "the second of one time";
  EXPECT_EQ(timers_.earliest(), past_);
  EXPECT_EQ(timers_.run_due(), 3U);
  EXPECT_EQ(done_, (std::vector{1, 2, 22}));
  EXPECT_EQ(timers_.earliest(), future_);
  EXPECT_EQ(timers_.run_due(), 0U);
  EXPECT_FALSE(timers_.empty());
}

TEST_F(TimersTest, WhatIsTakenBackIsNotDone) {
  const Timers::Id first = add(past_, 1).id;
  const Timers::Id later = add(future_, 2).id;
  EXPECT_TRUE(timers_.cancel(first));
  EXPECT_EQ(timers_.earliest(), future_);
  EXPECT_FALSE(timers_.cancel(first)) << "once";
  EXPECT_EQ(timers_.run_due(), 0U);
  EXPECT_TRUE(timers_.cancel(later));
  EXPECT_TRUE(timers_.empty());
}

TEST_F(TimersTest, AnActionMayAddAndTakeBackOthers) {
  const Timers::Id other = add(past_ + half_an_hour, 2).id;
  timers_.call_at(past_, [&] {
    EXPECT_TRUE(timers_.cancel(other));
    add(past_, 3);
  });
  EXPECT_EQ(timers_.run_due(), 2U);
  EXPECT_EQ(done_, std::vector{3});
}

}  // namespace
}  // namespace dovetail::tasking
