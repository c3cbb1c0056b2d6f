#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "checkpoints.hpp"

namespace dovetail::admission::test {
namespace {

// Lets a learner alone take the tasks of so many epochs, each of which lasts as `seconds` says.
std::uint64_t learn(AutoLearner& learner, const std::function<double(unsigned)>& seconds) {
  while (learner.learning()) {
    const unsigned count = learner.at_once();
    for (unsigned i = 0; i < count; ++i) {
      EXPECT_TRUE(learner.has_place());
      learner.admitted();
    }
    EXPECT_FALSE(learner.has_place());
    for (unsigned i = 0; i < count; ++i) {
      EXPECT_EQ(learner.ended(seconds(count), false), i + 1 == count);
    }
  }
  return learner.tasks_learning();
}

TEST(Auto, SpendsOnThePapersKmeansAsManyTasksAsThePaperSays) {
  // Section 5.2.3: 435 of 500 unbounded, 446 bounded, with 450 MB/s and 225 executors.
  AutoLearner unbounded(StorageBandwidth::automatic(), 450, 225);
  EXPECT_DOUBLE_EQ(unbounded.constraint(), 2);
  // The last epoch, of 14 tasks, no longer halves the time.
  EXPECT_EQ(learn(unbounded, [](unsigned count) { return count > 28 ? std::pow(count, 1.5) : 100.0; }), 435U);
  EXPECT_EQ(unbounded.registry().size(), 4U) << "the epoch that violates the condition is not registered";
  AutoLearner bounded(StorageBandwidth("auto(2,256,2)"), 450, 225);
  EXPECT_EQ(learn(bounded, [](unsigned) { return 1.0; }), 446U);
  ASSERT_EQ(bounded.registry().size(), 8U);
  EXPECT_DOUBLE_EQ(bounded.registry().back().constraint, 256);
}

TEST(Auto, StopsWhenADoubledConstraintDoesNotHalveTheTime) {
  // Section 5.2.1: three epochs are registered, the fourth violates the condition.
  AutoLearner learner(StorageBandwidth::automatic(), 400, 200);
  const std::map<unsigned, double> seconds{{200, 80}, {100, 40}, {50, 20}, {25, 10.5}};
  EXPECT_EQ(learn(learner, [&](unsigned count) { return seconds.at(count); }), 375U);
  ASSERT_EQ(learner.registry().size(), 3U);
  EXPECT_DOUBLE_EQ(learner.registry()[2].constraint, 8);
  EXPECT_DOUBLE_EQ(learner.registry()[2].seconds, 20);
}

TEST(Auto, MultipliesByDeltaFromMinimumToMaximum) {
  AutoLearner learner(StorageBandwidth("auto(10,50,4)"), 100, 64);
  EXPECT_EQ(learn(learner, [](unsigned) { return 1.0; }), 12U);  // 10 at once, then 2; 160 is above 50
  ASSERT_EQ(learner.registry().size(), 2U);
  EXPECT_DOUBLE_EQ(learner.registry()[1].constraint, 40);
}

TEST(Auto, EstimatesGroupsAndTheRemainder) {
  const AutoLearner::Entry entry{8, 4, 3};
  EXPECT_DOUBLE_EQ(AutoLearner::estimate(8, entry), 6);
  EXPECT_DOUBLE_EQ(AutoLearner::estimate(9, entry), 9);
  EXPECT_DOUBLE_EQ(AutoLearner::estimate(1, entry), 3);
}

TEST(Auto, TakesTheLeastEstimateAndTheHighestConstraintOfATie) {
  AutoLearner learner(StorageBandwidth("auto(25,100,2)"), 100, 64);
  learn(learner, [](unsigned count) { return count == 4 ? 4.0 : count == 2 ? 2.0 : 1.5; });
  learner.requests(4);  // 4 s of one group of 4, 4 s of two groups of 2, 6 s of four single ones
  EXPECT_DOUBLE_EQ(learner.constraint(), 50);
  learner.requests(1);  // 4, 2 or 1.5 s: evaluated anew when the number of ready tasks is another
  EXPECT_DOUBLE_EQ(learner.constraint(), 100);
  learner.requests(6);  // 8, 6 or 9 s
  EXPECT_DOUBLE_EQ(learner.constraint(), 50);
}

TEST(Auto, AFailedTaskTeachesNothingAndItsPlaceIsTakenByAnother) {
  AutoLearner learner(StorageBandwidth("auto(50,100,2)"), 100, 64);
  learner.admitted();
  learner.admitted();
  EXPECT_FALSE(learner.ended(100, true));
  EXPECT_TRUE(learner.has_place());
  learner.admitted();
  EXPECT_FALSE(learner.ended(2, false));
  EXPECT_TRUE(learner.ended(4, false));
  EXPECT_DOUBLE_EQ(learner.registry()[0].seconds, 3);
}

TEST(Auto, IsWithinTenPercentOfTheBestStaticConstraintOnceItHasLearned) {
  for (const char* constraint : {"auto", "auto(12.5,400,2)"}) {
    for (const CongestionLaw& law : {ssd, disk}) {
      Simulator simulator(law);
      TaskType& type = simulator.type("checkpoint", constraint);
      for (unsigned i = 0; i < 2000; ++i) {
        simulator.arrive(type, checkpoint);
      }
      double learned_at = 0;
      std::size_t learned = 0;
      simulator.on_end = [&](SimulatedTask&) {
        if (learned == 0 && !type.learning()) {
          learned = simulator.ended;
          learned_at = simulator.now;
        }
      };
      const double end = simulator.run();
      ASSERT_GT(learned, 0U);
      const double rate = static_cast<double>(2000 - learned) * checkpoint / (end - learned_at);
      EXPECT_GE(rate, 0.9 * best_bandwidth(law)) << constraint << ", saturation " << law.saturation;
    }
  }
}

// MB/s while tasks `from` to `to` ended.
class Window {
 public:
  Window(const Simulator& simulator, std::size_t from, std::size_t to) : simulator_(simulator), from_(from), to_(to) {}
  void ended(const SimulatedTask& task) {
    megabytes_ += simulator_.ended > from_ && simulator_.ended <= to_ ? task.megabytes : 0;
    begin_ = simulator_.ended == from_ ? simulator_.now : begin_;
    end_ = simulator_.ended == to_ ? simulator_.now : end_;
  }
  double rate() const { return megabytes_ / (end_ - begin_); }

 private:
  const Simulator& simulator_;
  std::size_t from_;
  std::size_t to_;
  double megabytes_ = 0;
  double begin_ = 0;
  double end_ = 0;
};

// MB/s after the first 20 tasks, and in the second half, on a device that is said to give so much.
std::pair<double, double> early_and_late(const CongestionLaw& law, double said, bool bytes_known) {
  Simulator simulator(law);
  TaskType& type = simulator.type("checkpoint", "adaptive", said);
  for (unsigned i = 0; i < 1000; ++i) {
    simulator.arrive(type, checkpoint).bytes_known = bytes_known;
  }
  Window early(simulator, 20, 60);
  Window late(simulator, 500, 1000);
  simulator.on_end = [&](const SimulatedTask& task) {
    early.ended(task);
    late.ended(task);
  };
  simulator.run();
  return {early.rate(), late.rate()};
}

TEST(Adaptive, IsWithinTenPercentAfterAtMostTwentyTasksAndWithinThreeInTheEnd) {
  for (const CongestionLaw& law : laws) {
    for (const double said : {0.0, law.peak, 2 * law.peak}) {
      for (const bool bytes_known : {true, false}) {
        const auto [early, late] = early_and_late(law, said, bytes_known);
        EXPECT_GE(early, 0.9 * best_bandwidth(law))
            << "the 40 tasks after the 20th; " << name(law) << ", said " << said;
        EXPECT_GE(late, 0.97 * best_bandwidth(law)) << "the second half; " << name(law) << ", said " << said;
      }
    }
  }
}

TEST(Adaptive, FindsOutThatADeviceGivesMoreThanIsSaid) {
  for (const CongestionLaw& law : laws) {
    for (const double said : {0.25, 0.5, 0.75, 0.9}) {
      const auto [early, late] = early_and_late(law, said * law.peak, true);
      EXPECT_GE(early, 0.93 * said * best_bandwidth(law)) << name(law) << ", said " << said;
      EXPECT_GE(late, 0.97 * best_bandwidth(law)) << "the second half; " << name(law) << ", said " << said;
    }
  }
}

// The fewest tasks at once that the search tries with 30 tasks.
unsigned fewest_at_once(Simulator& simulator, TaskType& type) {
  for (unsigned i = 0; i < 30; ++i) {
    simulator.arrive(type, checkpoint);
  }
  unsigned least = 64;
  simulator.on_end = [&](const SimulatedTask&) { least = std::min(least, simulator.budget.adaptive().at_once()); };
  simulator.run();
  return least;
}

TEST(Adaptive, LooksForNoMoreThanTheDeviceIsSaidToGive) {
  for (const bool said : {true, false}) {
    Simulator simulator(ssd);
    TaskType& type = simulator.type("checkpoint", "adaptive", said ? ssd.peak : 0);
    EXPECT_EQ(fewest_at_once(simulator, type), said ? 4U : 1U);
  }
}

TEST(Adaptive, WhatTheDeviceIsSaidToGiveIsKnownBesideTasksWithoutConstraint) {
  Simulator simulator(ssd);
  simulator.type("free", "none", 0);
  TaskType& type = simulator.type("checkpoint", "adaptive", ssd.peak);
  EXPECT_EQ(fewest_at_once(simulator, type), 4U);
}

TEST(Adaptive, IsNeverSlowerThanAuto) {
  for (const CongestionLaw& law : {ssd, disk}) {
    for (const unsigned tasks : {1U, 2U, 4U, 8U, 16U, 64U, 200U, 1000U}) {
      EXPECT_LE(total(law, "adaptive", tasks), total(law, "auto", tasks) * 1.001) << name(law) << ", tasks " << tasks;
    }
  }
  // Some of these devices take many tasks at once and do not mind more. There all at once is best, and caution has its price.
  for (const CongestionLaw& law : laws) {
    EXPECT_LE(total(law, "adaptive", 200), total(law, "auto", 200) * 1.03) << name(law);
  }
}

TEST(Adaptive, IsWithinTenPercentOfTheBestStaticConstraintWithSixtyFourTasks) {
  EXPECT_LE(total(ssd, "adaptive", 64), 1.1 * best_static(ssd, 64));
  EXPECT_LE(total(ssd, "adaptive", 1000), 1.03 * best_static(ssd, 1000));
}

TEST(Adaptive, IsBackWithinTenPercentAtMostTwentyTasksAfterTheDeviceChanged) {
  const CongestionLaw wide{400, 4, 4, 0.15};
  const std::vector<std::pair<CongestionLaw, CongestionLaw>> changes{
      {ssd, {200, 2, 4, 0.15}},  {wide, {200, 4, 4, 0.15}},
      {disk, {200, 1, 1, 5}},    {{200, 2, 4, 0.15}, ssd},
      {ssd, {200, 1, 1, 1}},     {wide, {800, 4, 4, 0.15}},
      {wide, {200, 2, 2, 0.15}}, {{200, 1, 1, 1}, {800, 2, 4, 0.15}}};
  for (const auto& [before, after] : changes) {
    Simulator simulator(before);
    TaskType& type = simulator.type("checkpoint", "adaptive");
    for (unsigned i = 0; i < 1000; ++i) {
      simulator.arrive(type, checkpoint);
    }
    Window back(simulator, 320, 360);
    Window late(simulator, 500, 1000);
    simulator.on_end = [&, next = after](const SimulatedTask& task) {
      simulator.law = simulator.ended == 300 ? next : simulator.law;
      back.ended(task);
      late.ended(task);
    };
    simulator.run();
    EXPECT_GE(back.rate(), 0.9 * best_bandwidth(after)) << name(before) << " becomes " << name(after);
    EXPECT_GE(late.rate(), 0.97 * best_bandwidth(after)) << name(before) << " becomes " << name(after);
  }
}

TEST(Adaptive, HoldsSeveralTypesOnOneDevice) {
  for (const bool bytes_known : {true, false}) {
    Simulator simulator(ssd);
    std::mt19937 random(7);
    const double sizes[] = {checkpoint, checkpoint / 16, checkpoint * 2};
    TaskType* const types[] = {&simulator.type("large", "adaptive"), &simulator.type("small", "adaptive"),
                               &simulator.type("huge", "adaptive")};
    double megabytes = 0;
    for (unsigned i = 0; i < 1500; ++i) {
      const auto which = random() % 3;
      simulator.arrive(*types[which], sizes[which]).bytes_known = bytes_known;
      megabytes += sizes[which];
    }
    const double end = simulator.run();
    EXPECT_GE(megabytes / end, 0.95 * best_bandwidth(ssd)) << "bytes known: " << bytes_known;
  }
}

// The checkpoints of the variant discovery pipeline (I/O-aware PyCOMPSs, table 1). They are five types of few tasks, in the order in
// which so many workers make them. At `load` 1 the workers compute as long as the device writes.
struct Arrival {
  double at;
  unsigned type;
  double megabytes;
};

std::vector<Arrival> pipelines(std::mt19937& random, unsigned samples, unsigned workers, double load) {
  constexpr double sizes[] = {162, 290, 330, 596, 615};
  struct Step {
    unsigned type;
    double cost;
    bool joins;  // both lanes
  };
  constexpr Step lane[] = {{0, 0.3, false}, {1, 1.0, false}, {1, 0.6, false}};
  constexpr Step rest[] = {{2, 0.5, true}, {3, 0.8, false}, {4, 0.5, false}};
  constexpr double scale = checkpoint / 290;
  const double second = (2 * 162 + 4 * 290 + 330 + 596 + 615) * scale / 400 / load * workers / 5.6;
  std::vector<double> free_at(workers, 0.0);
  std::vector<Arrival> arrivals;
  const auto run = [&](const Step& step, double ready) {
    double& worker = *std::min_element(free_at.begin(), free_at.end());
    worker = std::max(worker, ready) + step.cost * second * (0.8 + 0.4 * static_cast<double>(random()) / 4294967296.0);
    arrivals.push_back({worker, step.type, sizes[step.type] * scale});
    return worker;
  };
  for (unsigned sample = 0; sample < samples; ++sample) {
    double joined = 0;
    for (unsigned lanes = 0; lanes < 2; ++lanes) {
      double ready = 0;
      for (const Step& step : lane) {
        ready = run(step, ready);
      }
      joined = std::max(joined, ready);
    }
    for (const Step& step : rest) {
      joined = run(step, joined);
    }
  }
  return arrivals;
}

double total(const CongestionLaw& law, const StorageBandwidth& constraint, const std::vector<Arrival>& arrivals,
             bool bytes_known) {
  Simulator simulator(law, 16);
  if (law.knee <= 1) {
    simulator.budget.begin_with(2);  // as of disks with moving heads
  }
  std::vector<TaskType*> types;
  for (unsigned type = 0; type < 5; ++type) {
    types.push_back(&simulator.type("type " + std::to_string(type), constraint));
  }
  for (const Arrival& arrival : arrivals) {
    simulator.arrive(*types[arrival.type], arrival.megabytes, arrival.at).bytes_known = bytes_known;
  }
  return simulator.run();
}

TEST(Adaptive, FewTasksOfSeveralTypesAtATimeAreEnoughToLearnFrom) {
  // One thread simulates all, on which ThreadSanitizer takes 46 s for 640.
  const unsigned seeds = std::getenv("DOVETAIL_TEST_SCALE") != nullptr ? 160 : 640;
  for (const bool bytes_known : {true, false}) {
    double sum = 0;
    unsigned cases = 0;
    unsigned slow = 0;
    for (unsigned seed = 0; seed < seeds; ++seed) {
      std::mt19937 random(seed);
      const CongestionLaw& law = laws[seed % 6];
      const unsigned samples = 6 + static_cast<unsigned>(random()) % 12;
      const unsigned workers = 1 + static_cast<unsigned>(random()) % 4;
      const auto arrivals =
          pipelines(random, samples, workers, 0.4 + 1.2 * static_cast<double>(random()) / 4294967296.0);
      double best = 1e300;
      for (const unsigned at_once : {1, 2, 3, 4, 6, 8}) {
        best = std::min(best, total(law, law.peak / at_once, arrivals, bytes_known));
      }
      const double ratio = total(law, "adaptive", arrivals, bytes_known) / best;
      EXPECT_LE(ratio, bytes_known ? 2 : 4) << "seed " << seed << ", " << name(law);
      slow += ratio > 1.1 ? 1 : 0;
      sum += ratio;
      ++cases;
    }
    // From the first task on, search included. On hard disks, and for programs with little to do, every try costs.
    EXPECT_LE(sum / cases, bytes_known ? 1.02 : 1.04) << "bytes known: " << bytes_known;
    EXPECT_LE(slow, bytes_known ? cases / 20 : cases / 8) << "bytes known: " << bytes_known;
  }
}

TEST(Adaptive, ALevelThatNobodyFillsIsGivenUpBeforeTheNextBurst) {
  for (const CongestionLaw& law : laws) {
    for (unsigned burst = 6; burst <= 60; ++burst) {
      Simulator simulator(law);
      TaskType& type = simulator.type("checkpoint", "adaptive");
      // A search begins, and at its end, wherever that is, there are no more than two at a time.
      for (unsigned i = 0; i < burst; ++i) {
        simulator.arrive(type, checkpoint);
      }
      double end = simulator.run();
      for (unsigned i = 0; i < 120; ++i) {
        simulator.arrive(type, checkpoint, end + (i / 2) * 1.0);
      }
      simulator.run();
      const AdaptiveLearner& learner = simulator.budget.adaptive();
      EXPECT_TRUE(!learner.searching() || learner.at_once() <= 2)
          << name(law) << ", burst of " << burst << ": level " << learner.at_once();
    }
  }
}

// The owner that keeps what was found has to be told of it.
TEST(Adaptive, SaysOnceThatASearchHasEndedForWantOfTasks) {
  AdaptiveLearner learner(64);
  const std::vector<double> alone{0, 1, 0, 0, 0, 0};
  unsigned ends = 0;
  for (unsigned i = 0; i < 30; ++i) {
    const bool before = learner.searching();
    const bool told = learner.ended({.seconds_among = alone, .work = 1, .present = 1});
    ends += told ? 1 : 0;
    EXPECT_EQ(told, before && !learner.searching()) << i;
  }
  EXPECT_EQ(ends, 1U);
  EXPECT_EQ(learner.at_once(), 1U);
}

TEST(Adaptive, DoesNotTryALevelForWhichThereAreNoTasks) {
  Simulator simulator(ssd);
  simulator.budget.begin_with(2);
  TaskType& type = simulator.type("checkpoint", "adaptive");
  for (unsigned i = 0; i < 60; ++i) {
    simulator.arrive(type, checkpoint, (i / 2) * 0.5);
  }
  unsigned most = 0;
  simulator.on_end = [&](const SimulatedTask&) { most = std::max(most, simulator.budget.adaptive().at_once()); };
  simulator.run();
  EXPECT_EQ(most, 2U);
}

TEST(Adaptive, MoreExecutorsThanItCanRememberTasksAreNoHindrance) {
  const CongestionLaw wide{4000, 160, 300, 0.1};
  Simulator simulator(wide, 512);
  TaskType& type = simulator.type("checkpoint", "adaptive");
  for (unsigned i = 0; i < 6000; ++i) {
    simulator.arrive(type, checkpoint);
  }
  simulator.run();
  EXPECT_GE(wide.bandwidth(simulator.budget.adaptive().at_once()), 0.9 * wide.peak);
}

TEST(Adaptive, TasksOfChangingSizeDoNotMisleadIt) {
  for (const bool bytes_known : {true, false}) {
    Simulator simulator(ssd);
    TaskType& type = simulator.type("checkpoint", "adaptive");
    std::mt19937 random(11);
    double megabytes = 0;
    for (unsigned i = 0; i < 2000; ++i) {
      const double size = checkpoint * static_cast<double>(1 + random() % 8) / 4;
      simulator.arrive(type, size).bytes_known = bytes_known;
      megabytes += size;
    }
    // By count alone it knows less: docs/admission.md says so.
    EXPECT_GE(megabytes / simulator.run(), (bytes_known ? 0.97 : 0.85) * best_bandwidth(ssd));
  }
}

TEST(Adaptive, GoesOnFromWhatAnEarlierRunFound) {
  Simulator simulator(disk);
  simulator.budget.recall({1, 400});
  TaskType& type = simulator.type("checkpoint", "adaptive");
  for (unsigned i = 0; i < 64; ++i) {
    simulator.arrive(type, checkpoint);
  }
  EXPECT_NEAR(simulator.run(), 64 * checkpoint / 400, 1e-6) << "nothing was to be learned";
}

TEST(Adaptive, WhatItRemembersWronglyItCorrects) {
  Simulator simulator(ssd);
  simulator.budget.recall({64, 4000});
  TaskType& type = simulator.type("checkpoint", "adaptive");
  for (unsigned i = 0; i < 1000; ++i) {
    simulator.arrive(type, checkpoint);
  }
  simulator.run();
  EXPECT_GE(ssd.bandwidth(simulator.budget.remember().at_once), 0.9 * 400);
}

TEST(Adaptive, AlmostIdleDeviceIsNotHindered) {
  Simulator simulator(ssd);
  TaskType& type = simulator.type("checkpoint", "adaptive");
  for (unsigned i = 0; i < 100; ++i) {
    simulator.arrive(type, checkpoint, i * 0.2);
  }
  EXPECT_NEAR(simulator.run(), 99 * 0.2 + checkpoint / 200, 1e-6);
}

}  // namespace
}  // namespace dovetail::admission::test
