// `adaptive` where tasks use processor and device in turn. Computations make the data, and each task prepares its own on the same
// cores. Only then the device drains it.
// One thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "admission/gradual_rise.hpp"
#include "simulator.hpp"

namespace dovetail::admission::test {
namespace {

constexpr double checkpoint = 16.777216;  // MB
constexpr unsigned runs = 20;

// The first of the seeds of this run: always the same, unless DOVETAIL_TEST_SEED names another. Each run has the next one.
unsigned first_seed() {
  const char* const given = std::getenv("DOVETAIL_TEST_SEED");
  const auto seed = given == nullptr ? 1U : static_cast<unsigned>(std::strtoul(given, nullptr, 10));
  std::cout << "seeds " << seed << " to " << seed + runs - 1 << " (DOVETAIL_TEST_SEED is the first)\n";
  return seed;
}

// So many checkpoints, each after a computation, of which each takes a core for a while to prepare.
struct Program {
  unsigned tasks;
  double megabytes;
  double computing;  // seconds of a core
  double preparing;  // likewise
};
constexpr Program few{64, checkpoint, 0.05, 0.025};
constexpr Program many{1000, checkpoint / 4, 0.002, 0.005};

// Seconds that it takes where times are as said, give or take so much.
double run(Simulator& simulator, const Program& program, const StorageBandwidth& constraint, unsigned seed,
           double scatter) {
  TaskType& type = simulator.type("checkpoint", constraint);
  std::mt19937 random(seed);
  const auto about = [&](double seconds) {
    return seconds * (1 + scatter * (static_cast<double>(random()) / 2147483648.0 - 1));
  };
  for (unsigned i = 0; i < program.tasks; ++i) {
    const double computing = about(program.computing);
    simulator.compute(type, program.megabytes, computing).processor = about(program.preparing);
  }
  return simulator.run();
}

double total(const Program& program, const StorageBandwidth& constraint, unsigned seed, double scatter) {
  Simulator simulator({});
  return run(simulator, program, constraint, seed, scatter);
}

double mean(const Program& program, const StorageBandwidth& constraint, unsigned seed, double scatter) {
  double sum = 0;
  for (unsigned run = 0; run < runs; ++run) {
    sum += total(program, constraint, seed + run, scatter);
  }
  return sum / runs;
}

// Of `adaptive`, search included, against the best static constraint.
double loss(const Program& program, unsigned seed, double scatter) {
  double best = 1e300;
  for (unsigned at_once = 1; at_once <= 8; ++at_once) {
    best = std::min(best, mean(program, 400.0 / at_once, seed, scatter));
  }
  return mean(program, "adaptive", seed, scatter) / best - 1;
}

TEST(Rise, TasksOfARaisedLevelDoNotKeepStep) {
  const unsigned seed = first_seed();
  for (const double scatter : {0.05, 0.3}) {
    EXPECT_LE(loss(few, seed, scatter), 0.05) << "scatter " << scatter;
    EXPECT_LE(loss(many, seed, scatter), 0.03) << "scatter " << scatter;
  }
}

TEST(Rise, TheFirstTaskNeedNotHaveHadCompanyAllTheTime) {
  Simulator simulator({400, 4, 4, 0.15});
  simulator.budget.begin_with(2);
  TaskType& type = simulator.type("checkpoint", "adaptive");
  for (unsigned i = 0; i < 20; ++i) {
    simulator.arrive(type, checkpoint, i == 0 ? 0 : 0.01);
  }
  std::size_t raised = 0;
  simulator.on_end = [&](const SimulatedTask&) {
    raised = raised == 0 && simulator.budget.adaptive().at_once() != 2 ? simulator.ended : raised;
  };
  simulator.run();
  EXPECT_EQ(raised, 2U);
}

TEST(Rise, ADeviceThatGivesThreeQuartersOfTheGainIsBusy) {
  Simulator simulator({400, 3.5, 4, 0.15});  // X(4) = 1.75 X(2), X(8) = 0.63 X(4)
  TaskType& type = simulator.type("checkpoint", "adaptive");
  for (unsigned i = 0; i < 40; ++i) {
    simulator.arrive(type, checkpoint);
  }
  unsigned most = 0;
  simulator.on_end = [&](const SimulatedTask&) { most = std::max(most, simulator.budget.adaptive().at_once()); };
  simulator.run();
  EXPECT_LT(most, 8U);
}

// Tells a learner of tasks, each all its time at one level.
class Told {
 public:
  explicit Told(AdaptiveLearner& learner, double device_rate = 0) : learner_(learner), device_rate_(device_rate) {}
  void task(unsigned at_once, double rate, unsigned present = 64) {
    std::array<double, 65> seconds{};
    seconds[at_once] = at_once * checkpoint / rate;
    learner_.ended({.seconds_among = seconds, .work = checkpoint, .present = present, .device_rate = device_rate_});
  }

 private:
  AdaptiveLearner& learner_;
  double device_rate_;
};

TEST(Rise, ALevelThatWasFlatteredIsHeldForOneBlockOnly) {
  AdaptiveLearner learner(64);
  Told told(learner);
  // While it searches, its first samples of three are better than they will ever be again; four is what its samples say.
  const auto searching = [](unsigned at_once) {
    return at_once <= 2 ? 280.0 : at_once == 3 ? 405.0 : at_once == 4 ? 400.0 : 360.0;
  };
  for (unsigned task = 0; learner.searching(); ++task) {
    ASSERT_LT(task, 100U);
    told.task(learner.at_once(), searching(learner.at_once()));
  }
  ASSERT_EQ(learner.at_once(), 3U);
  for (unsigned task = 0; task < 8; ++task) {
    told.task(learner.at_once(), learner.at_once() == 3 ? 365 : 400);
  }
  EXPECT_EQ(learner.at_once(), 4U);
  for (unsigned task = 0; task < 16; ++task) {
    told.task(4, 400);
  }
  EXPECT_EQ(learner.at_once(), 4U) << "and not to and fro";
  for (unsigned task = 0; task < 4; ++task) {
    told.task(4, 440);
  }
  EXPECT_NEAR(learner.rate(), 410, 4) << "the next blocks are not believed as much";
}

TEST(Rise, ALevelThatIsHardlyWorseIsLookedAtSeldom) {
  AdaptiveLearner learner(64);
  Told told(learner);
  const auto rate = [](unsigned at_once) { return at_once < 4 ? 100.0 * at_once : 404.0 - at_once; };
  for (unsigned task = 0; learner.searching(); ++task) {
    ASSERT_LT(task, 100U);
    told.task(learner.at_once(), rate(learner.at_once()));
  }
  ASSERT_EQ(learner.at_once(), 4U);
  constexpr unsigned tasks = 1000;
  unsigned looks = 0;
  for (unsigned task = 0; task < tasks; ++task) {
    const unsigned before = learner.at_once();
    told.task(before, rate(before));
    looks += before == 4 && learner.at_once() != 4 ? 1 : 0;
  }
  // A change of level costs about one task, and 1 % may be spent.
  EXPECT_GE(looks, 1U);
  EXPECT_LE(looks, tasks / 100);
}

TEST(Rise, ADoublingThatWaitedForTasksIsNoLessADoubling) {
  AdaptiveLearner learner(64);
  Told told(learner);
  const auto rate = [](unsigned at_once) { return 100.0 * at_once; };
  for (unsigned task = 0; learner.searching(); ++task) {
    ASSERT_LT(task, 20U);
    told.task(learner.at_once(), rate(learner.at_once()), 7);
  }
  ASSERT_EQ(learner.at_once(), 4U) << "there are not eight";
  told.task(4, rate(4), 8);
  EXPECT_EQ(learner.at_once(), 8U);
}

// The levels that a search measures on a device of these rates, one after the other. The rate of the first four tasks, which hinder
// each other, is a number of its own.
std::vector<unsigned> searched(const std::function<double(unsigned)>& rate, double first_of_four, double device_rate) {
  AdaptiveLearner learner(64);
  Told told(learner, device_rate);
  std::vector<unsigned> levels{learner.at_once()};
  for (unsigned task = 0; learner.searching() && task < 100; ++task) {
    told.task(learner.at_once(), levels.size() == 1 ? first_of_four : rate(learner.at_once()));
    if (learner.at_once() != levels.back()) {
      levels.push_back(learner.at_once());
    }
  }
  return levels;
}

TEST(Rise, WhatTheFirstTasksShowedOfTheirLevelIsDoubtedWhereItMatters) {
  using Levels = std::vector<unsigned>;
  const auto ssd = [](unsigned at_once) {
    return at_once < 4 ? 250.0 + 50 * (at_once - 1) : 400.0 - 40 * (at_once - 4);
  };
  EXPECT_EQ(searched(ssd, 390, 400), Levels{4}) << "nothing is better than full";
  EXPECT_EQ(searched(ssd, 330, 400), (Levels{4, 2, 4})) << "it may have looked worse than it is";
  const auto disk = [](unsigned at_once) { return 400.0 / (1 + 0.5 * (at_once - 1)); };
  const Levels of_disk = searched(disk, disk(4), 400);
  EXPECT_EQ(of_disk.back(), 1U);
  EXPECT_EQ(std::count(of_disk.begin(), of_disk.end(), 4U), 1) << "so much worse it did not look by chance";
  const auto array = [](unsigned at_once) { return 40.0 * at_once; };
  EXPECT_EQ(searched(array, 150, 0)[2], 8U) << "it brought the gain although it may have looked worse than it is";
}

TEST(Rise, AChangeOfAQuietDeviceIsSeenWithTheFirstBlockThatHasIt) {
  AdaptiveLearner learner(64);
  Told told(learner);
  const auto rate = [](unsigned at_once) { return at_once == 1 ? 200.0 : 400.0; };
  for (unsigned task = 0; task < 40; ++task) {
    told.task(learner.at_once(), rate(learner.at_once()));
  }
  ASSERT_FALSE(learner.searching());
  ASSERT_EQ(learner.at_once(), 2U);
  unsigned tasks = 0;
  for (; !learner.searching(); ++tasks) {
    ASSERT_LT(tasks, 30U);
    told.task(2, 100);
  }
  EXPECT_LE(tasks, 7U) << "up to three of its block were before the change";
}

// Two tasks that entered at these times, at a level of two, and one that took a second before.
GradualRise two_inside(double first, double second) {
  GradualRise rise;
  rise.arrived(-9);
  EXPECT_TRUE(rise.allows(2, first - 1));
  rise.entered(first - 1);
  rise.left(first - 1, first);
  rise.entered(first);
  rise.entered(second);
  EXPECT_FALSE(rise.allows(2, second));
  return rise;
}

void ends(GradualRise& rise, double entered, double now) {
  rise.left(entered, now);
  EXPECT_TRUE(rise.allows(4, now)) << "its place is free again at once";
  rise.entered(now);
}

// Seconds from the 20th checkpoint after the change to the end.
double after_change(const CongestionLaw& after, const StorageBandwidth& constraint, unsigned seed, double scatter) {
  constexpr std::size_t change = 64;
  Simulator simulator({});
  double begin = 0;
  simulator.on_end = [&](SimulatedTask&) {
    if (simulator.ended == change) {
      simulator.law = after;
    }
    begin = simulator.ended == change + 20 ? simulator.now : begin;
  };
  constexpr Program twice{2 * few.tasks, few.megabytes, few.computing, few.preparing};
  return run(simulator, twice, constraint, seed, scatter) - begin;
}

// What tasks show of a lower level that prepared their data at a higher one does not mislead it.
TEST(Rise, ADeviceThatOnlyBecameSlowerIsUsedAsBefore) {
  const unsigned first = first_seed();
  double worse = 0;
  unsigned programs = 0;
  for (const double peak : {200.0, 100.0}) {
    for (const double scatter : {0.05, 0.3}) {
      for (unsigned run = 0; run < 3 * runs; ++run, ++programs) {
        const CongestionLaw slower{peak, 2, 4, 0.15};
        worse += after_change(slower, StorageBandwidth::adaptive(), first + run, scatter) /
                     after_change(slower, 100, first + run, scatter) -
                 1;
      }
    }
  }
  EXPECT_LT(worse / programs, 0.01);
}

TEST(GradualRise, ANewPlaceIsTakenByArrivalsThatAreApart) {
  GradualRise rise = two_inside(10, 10.01);
  rise.arrived(10.9);
  ends(rise, 10, 11);
  EXPECT_FALSE(rise.allows(4, 11)) << "arrivals are to be expected: the new ones need not begin with this one";
  ends(rise, 10.01, 11.01);
  EXPECT_FALSE(rise.allows(4, 11.01));
  rise.arrived(11.05);
  EXPECT_FALSE(rise.allows(4, 11.05)) << "too close to the last one";
  rise.arrived(11.25);
  EXPECT_TRUE(rise.allows(4, 11.25));
  rise.entered(11.25);
  EXPECT_FALSE(rise.allows(4, 11.25)) << "one at a time";
  rise.arrived(11.6);
  EXPECT_TRUE(rise.allows(4, 11.6));
  rise.entered(11.6);
  rise.arrived(11.9);
  EXPECT_FALSE(rise.allows(4, 11.9)) << "full";
}

TEST(GradualRise, WithoutArrivalsEachEndBringsOneMore) {
  GradualRise rise = two_inside(10, 10.5);
  ends(rise, 10, 11);
  EXPECT_TRUE(rise.allows(4, 11));
  rise.entered(11);
  EXPECT_FALSE(rise.allows(4, 11)) << "one at a time";
  ends(rise, 10.5, 11.5);
  EXPECT_TRUE(rise.allows(4, 11.5));
}

TEST(GradualRise, EndsThatAreCloseBringOneMore) {
  GradualRise rise = two_inside(10, 10.5);
  ends(rise, 10, 11);
  EXPECT_TRUE(rise.allows(4, 11));
  rise.entered(11);
  ends(rise, 11, 11.05);
  EXPECT_FALSE(rise.allows(4, 11.05)) << "too close to the last one";
  ends(rise, 10.5, 11.5);
  EXPECT_TRUE(rise.allows(4, 11.5));
}

TEST(GradualRise, TasksThatKeepStepAnywayAreNotWaitedFor) {
  GradualRise rise = two_inside(10, 10);
  ends(rise, 10, 11);
  ends(rise, 10, 11);
  EXPECT_TRUE(rise.allows(4, 11));
  rise.entered(11);
  EXPECT_TRUE(rise.allows(4, 11));
}

TEST(GradualRise, ArrivalsThatFollowFromEndsDoNotKeepPlacesEmpty) {
  GradualRise rise = two_inside(10, 10.5);
  rise.arrived(10.501);
  double oldest = 10;
  double other = 10.5;
  for (const double now : {11.0, 11.5, 12.0, 12.5}) {
    ends(rise, std::exchange(oldest, std::exchange(other, now)), now);
    EXPECT_FALSE(rise.allows(4, now)) << "others arrive, as far as one can know";
    rise.arrived(now + 0.001);
    EXPECT_FALSE(rise.allows(4, now + 0.001)) << "but at the wrong time";
  }
  ends(rise, oldest, 13);
  EXPECT_TRUE(rise.allows(4, 13)) << "two tasks later that is enough";
  rise.entered(13);
  EXPECT_TRUE(rise.allows(4, 13)) << "for all of them";
}

TEST(GradualRise, TimesOutOfOrderAreNoHindrance) {
  GradualRise rise;
  EXPECT_TRUE(rise.allows(2, 1));
  rise.entered(1);
  rise.entered(0.999999);
  rise.left(1, 2);
  rise.left(0.999999, 1.5);
  EXPECT_TRUE(rise.allows(2, 1.2));
  rise.entered(1.5);
  rise.entered(1.2);
  EXPECT_FALSE(rise.allows(3, 1.6)) << "too close to the latest one";
}

}  // namespace
}  // namespace dovetail::admission::test
