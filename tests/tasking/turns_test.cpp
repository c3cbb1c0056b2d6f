// Which of a worker's tasks goes in turn, counted in tasks: exact, since the test counts them itself. The effects on programs are tested in
// priority_test and starvation_test.
#include <gtest/gtest.h>

#include <set>

#include "tasking/turns.hpp"

namespace dovetail::tasking {
namespace {

// How many tasks go before the turn.
unsigned tasks_until_due(Turns& turns) {
  unsigned tasks = 0;
  while (!turns.is_due()) {
    turns.count();
    ++tasks;
  }
  return tasks;
}

TEST(TurnsTest, OneTaskInEightGoesInTurnWhereBodiesAreLong) {
  Turns turns;
  for (int i = 0; i < 100; ++i) {
    turns.plan(true);
    EXPECT_EQ(tasks_until_due(turns), 8U);
  }
}

TEST(TurnsTest, OneTaskInSixtyFourWhereBodiesAreShort) {
  Turns turns;
  for (int i = 0; i < 100; ++i) {
    turns.plan(false);
    EXPECT_EQ(tasks_until_due(turns), 64U);
  }
}

TEST(TurnsTest, EveryQueueHasItsTurn) {
  Turns turns;
  for (int round = 0; round < 3; ++round) {
    std::set<Turns::Queue> had;
    for (unsigned i = 0; i < Turns::queues; ++i) {
      had.insert(turns.pass_on());
    }
    EXPECT_EQ(had.size(), Turns::queues);
  }
}

TEST(TurnsTest, AResumedTaskGoesBeforeATurnOnce) {
  Turns turns;
  turns.plan(true);
  tasks_until_due(turns);
  EXPECT_TRUE(turns.resumed_goes_first());
  turns.resumed_went_first();
  EXPECT_FALSE(turns.resumed_goes_first());
  EXPECT_EQ(tasks_until_due(turns), 1U);
  turns.pass_on();
  EXPECT_TRUE(turns.resumed_goes_first());
}

TEST(TurnsTest, ATurnOnTopOfABodyIsGivenUpOnceInSixteen) {
  Turns turns;
  for (int i = 1; i <= 64; ++i) {
    EXPECT_EQ(turns.is_given_up_on_top(), i % 16 == 0) << i;
  }
}

}  // namespace
}  // namespace dovetail::tasking
