// Whether an idle worker goes on polling: numbers only.
#include "gtest/gtest.h"
#include "tasking/linger.hpp"

namespace dovetail::tasking {
namespace {

using namespace std::chrono_literals;

TEST(LingerTest, IsGivenUpWhenInVainAndTriedAgain) {
  Linger linger(-1ns);
  for (unsigned i = 0; i < Linger::most_in_vain; ++i) {
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
}  // namespace dovetail::tasking
