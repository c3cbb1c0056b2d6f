// Shares: everything that needs no runtime.
// One thread.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "admission/budget.hpp"
#include "device/device.hpp"
#include "device/support.hpp"
#include "simulator.hpp"

namespace dovetail::admission::test {
namespace {

using dovetail::test::refusal;

std::size_t count(const CandidateList& list) {
  std::size_t result = 0;
  for (const Candidate* candidate = list.front(); candidate != nullptr; candidate = candidate->next) {
    ++result;
  }
  return result;
}

TEST(StorageBandwidth, ReadsWhatItWrites) {
  for (const char* text : {"none", "20", "0.5", "auto", "auto(2,256,2)", "auto(2.5,256,1.5)", "adaptive"}) {
    EXPECT_EQ(StorageBandwidth::parse(text).text(), text);
    EXPECT_EQ(StorageBandwidth(text), StorageBandwidth::parse(text));
  }
  EXPECT_EQ(StorageBandwidth(" auto( 2, 256 ,2 ) "), StorageBandwidth::automatic(2, 256, 2));
  EXPECT_EQ(StorageBandwidth(20), StorageBandwidth("20"));
  EXPECT_EQ(StorageBandwidth(""), StorageBandwidth());
}

TEST(StorageBandwidth, RefusesWhatMakesNoSense) {
  EXPECT_NE(refusal([] { StorageBandwidth("auto(16,2,2)"); }).find("min (16) is greater than max (2)"),
            std::string::npos);
  EXPECT_NE(refusal([] { StorageBandwidth("auto(2,16,1)"); }).find("delta (1) must be greater than 1"),
            std::string::npos);
  for (const char* text : {"fast", "auto(", "auto(1,2)", "auto(1,2,3,4)", "auto()", "autos", "12x", "-1", "0", "inf",
                           "nan", "auto(0,2,2)", "auto(nan,2,2)", "1e999", "auto(1,inf,2)", "20 MB/s", "adaptive(2)"}) {
    EXPECT_NE(refusal([&] { StorageBandwidth::parse(text); }).find("storage bandwidth"), std::string::npos) << text;
  }
  EXPECT_NE(refusal([] { StorageBandwidth(0); }), "not refused");
  EXPECT_NE(refusal([] { StorageBandwidth(-2.5); }), "not refused");
  EXPECT_NE(refusal([] { StorageBandwidth(std::numeric_limits<double>::infinity()); }), "not refused");
}

TEST(Budget, AdmitsWhatTheBandwidthHolds) {
  Budget budget;
  TaskType& type = budget.type({"write", 20, Direction::write}, 100, 64);
  std::vector<Candidate> candidates(7);
  CandidateList admitted;
  for (Candidate& candidate : candidates) {
    candidate.type = &type;
    budget.enter(candidate, 0, admitted);
  }
  EXPECT_EQ(count(admitted), 5U);
  CandidateList next;
  budget.leave(candidates[0], {}, 1, next);
  EXPECT_EQ(next.front(), &candidates[5]);
  EXPECT_EQ(count(next), 1U);
}

TEST(Budget, SharesOfTypesAddUpAndNobodyIsOvertaken) {
  Budget budget;
  TaskType& small = budget.type({"small", 20, Direction::write}, 100, 64);
  TaskType& large = budget.type({"large", 80, Direction::write}, 100, 64);
  std::vector<Candidate> candidates(5);
  candidates[0].type = candidates[1].type = candidates[3].type = &small;
  candidates[2].type = &large;
  candidates[4].type = &small;
  candidates[4].priority = 1;
  CandidateList admitted;
  for (std::size_t i = 0; i < 4; ++i) {
    budget.enter(candidates[i], 0, admitted);
  }
  EXPECT_EQ(count(admitted), 2U) << "the large one does not fit, and the small one behind it waits";
  budget.enter(candidates[4], 0, admitted);
  EXPECT_EQ(count(admitted), 3U) << "what is more urgent goes before";
  CandidateList next;
  budget.leave(candidates[0], {}, 1, next);
  budget.leave(candidates[4], {}, 1, next);
  EXPECT_EQ(next.front(), &candidates[2]);
  EXPECT_EQ(count(next), 1U);
}

TEST(Budget, NoneWaitsForEverBehindOthersOfHigherPriority) {
  Budget budget;
  TaskType& type = budget.type({"write", 100, Direction::write}, 100, 64);
  std::vector<Candidate> candidates(40);
  for (Candidate& candidate : candidates) {
    candidate.type = &type;
    candidate.priority = 1;
  }
  Candidate& low = candidates[2];
  low.priority = 0;
  CandidateList inside;
  for (std::size_t i = 0; i < 3; ++i) {
    budget.enter(candidates[i], 0, inside);
  }
  std::size_t before = 0;
  for (std::size_t next = 3; next < candidates.size() && inside.front() != &low; ++next, ++before) {
    ASSERT_EQ(inside.size(), 1U);
    budget.enter(candidates[next], 0, inside);  // one of them always waits
    budget.leave(*inside.pop(), {}, 0, inside);
  }
  EXPECT_EQ(inside.front(), &low);
  EXPECT_GE(before, 2U) << "the more urgent go first";
  EXPECT_LE(before, 16U);
}

// Four tasks of 1 000 MB each take 10 s side by side. The rate is 400 MB/s at any time, and never 4 000 MB in the instant of
// their end.
TEST(Budget, ThroughputIsSpreadOverTheTimeOfTheTasks) {
  for (const double scale : {0.001, 1.0, 1000.0}) {  // short ones lie within an interval, for long ones intervals grow
    Budget budget;
    TaskType& type = budget.type({"write", 100, Direction::write}, 400, 64);
    std::vector<Candidate> candidates(8);
    CandidateList admitted;
    const auto enter = [&](std::size_t first, double now) {
      for (std::size_t i = first; i < first + 4; ++i) {
        candidates[i].type = &type;
        budget.enter(candidates[i], now * scale, admitted);
      }
    };
    const auto leave = [&](std::size_t first, double now) {
      for (std::size_t i = first; i < first + 4; ++i) {
        CandidateList next;
        TaskEnd end;
        end.bytes_known = true;
        end.bytes = static_cast<std::uint64_t>(1e9 * scale);
        budget.leave(candidates[i], end, now * scale, next);
      }
    };
    enter(0, 5);
    leave(0, 15);
    enter(4, 20);
    leave(4, 30);
    ASSERT_EQ(count(admitted), 8U);
    double megabytes = 0;
    double task_seconds = 0;
    double end = 5 * scale;
    for (const Budget::Interval& interval : budget.intervals()) {
      EXPECT_LE(interval.megabytes / interval.length, 400 + 1e-6);
      EXPECT_NEAR(interval.seconds, end, 1e-9 * scale) << "they are without gaps";
      end = interval.seconds + interval.length;
      megabytes += interval.megabytes;
      task_seconds += interval.task_seconds;
    }
    EXPECT_NEAR(megabytes, 8000 * scale, 1e-6 * scale);
    EXPECT_NEAR(task_seconds, 80 * scale, 1e-6 * scale);
    EXPECT_LE(budget.intervals().size(), 4096U);
  }
}

TEST(Budget, AConstraintAboveTheDeviceRunsAlone) {
  Budget budget;
  TaskType& type = budget.type({"write", 500, Direction::write}, 100, 64);
  std::vector<Candidate> candidates(2);
  CandidateList admitted;
  for (Candidate& candidate : candidates) {
    candidate.type = &type;
    budget.enter(candidate, 0, admitted);
  }
  EXPECT_EQ(count(admitted), 1U);
}

// Section 4.2.3 B: no other I/O task on the device of a type that is learning.
TEST(Budget, NobodyElseEntersWhileATypeIsLearning) {
  Budget budget;
  TaskType& learning = budget.type({"learning", "auto(50,100,2)", Direction::write}, 100, 64);
  TaskType& other = budget.type({"other", 1, Direction::write}, 100, 64);
  std::vector<Candidate> candidates(4);
  candidates[0].type = candidates[2].type = candidates[3].type = &learning;
  candidates[1].type = &other;
  CandidateList admitted;
  for (Candidate& candidate : candidates) {
    budget.enter(candidate, 0, admitted);
  }
  EXPECT_EQ(count(admitted), 2U) << "the epoch has two places, and its third task waits for the next epoch";
  EXPECT_EQ(candidates[1].place, Candidate::Place::waiting);
  CandidateList next;
  budget.leave(candidates[0], {}, 1, next);
  EXPECT_TRUE(next.empty()) << "an epoch ends with all of its tasks";
  budget.leave(candidates[2], {}, 1, next);
  EXPECT_EQ(next.front(), &candidates[3]);
  EXPECT_EQ(count(next), 1U);
  CandidateList last;
  budget.leave(candidates[3], {}, 2, last);
  EXPECT_FALSE(learning.learning());
  EXPECT_EQ(last.front(), &candidates[1]);
}

// On a cluster the others would run on other nodes. Here they are all there is.
TEST(Budget, AnEpochThatLacksTasksHoldsNobodyUp) {
  Budget budget;
  TaskType& learning = budget.type({"learning", "auto(25,100,2)", Direction::write}, 100, 64);
  TaskType& other = budget.type({"other", 1, Direction::write}, 100, 64);
  std::vector<Candidate> candidates(3);
  candidates[0].type = candidates[2].type = &learning;
  candidates[1].type = &other;
  CandidateList admitted;
  budget.enter(candidates[0], 0, admitted);
  budget.enter(candidates[1], 0, admitted);
  EXPECT_EQ(count(admitted), 1U);
  CandidateList next;
  budget.leave(candidates[0], {}, 1, next);
  EXPECT_EQ(next.front(), &candidates[1]);
  CandidateList third;
  budget.enter(candidates[2], 1, third);
  EXPECT_TRUE(third.empty()) << "the device is not its own yet";
  budget.leave(candidates[1], {}, 2, third);
  EXPECT_EQ(third.front(), &candidates[2]);
}

// A type of which `auto` has learned from seven tasks.
TaskType& learn_by_auto(Simulator& simulator) {
  TaskType& type = simulator.type("write", "auto(25,100,2)");
  for (int i = 0; i < 7; ++i) {
    simulator.arrive(type, 10);
  }
  simulator.run();
  return type;
}

TEST(Budget, AutoIsEvaluatedAnewWhenTasksArrive) {
  Simulator simulator({100, 2, 2, 1}, 8);
  TaskType& type = learn_by_auto(simulator);
  ASSERT_FALSE(type.learning());
  ASSERT_EQ(type.automatic->registry().size(), 3U);
  std::vector<double> constraints;
  for (int i = 0; i < 3; ++i) {
    simulator.arrive(type, 10, 100);
  }
  simulator.on_end = [&](const SimulatedTask&) { constraints.push_back(type.automatic->constraint()); };
  simulator.run();
  // 0.2 s each alone and with two: a tie for one task, which goes to the highest constraint; with three, two at once are better.
  EXPECT_EQ(constraints, (std::vector<double>{50, 50, 50}));
  simulator.arrive(type, 10, 200);
  simulator.run();
  EXPECT_DOUBLE_EQ(constraints.back(), 100);
}

// Of a long run, every other change is kept, from its beginning to its end.
TEST(Budget, AHistoryIsBounded) {
  Simulator simulator({100, 2, 2, 1}, 8);
  TaskType& type = learn_by_auto(simulator);
  ASSERT_FALSE(type.learning());
  constexpr std::size_t most = 4096;
  const double begin = type.history.front().seconds;
  double now = 100;
  // As in the test before: alone at once, and two at once when three have arrived. So there are two changes in each turn.
  for (std::size_t turn = 0; turn < most / 2 + 50; ++turn, now += 1) {
    for (int i = 0; i < 3; ++i) {
      simulator.arrive(type, 10, now);
    }
    simulator.run();
  }
  EXPECT_LE(type.history.size(), most);
  EXPECT_GT(type.history.size(), most / 2);
  EXPECT_DOUBLE_EQ(type.history.front().seconds, begin);
  EXPECT_DOUBLE_EQ(type.history.back().seconds, now - 1);
  double before = begin;
  for (const ConstraintChange& change : type.history) {
    EXPECT_GE(change.seconds, before);
    EXPECT_LE(change.seconds - before, 100);
    before = change.seconds;
  }
}

TEST(Budget, ATypeWhoseTasksAllFailIsNeverLearnedAndHoldsNothingUp) {
  for (const char* constraint : {"auto", "adaptive", "auto(10,400,2)"}) {
    Simulator simulator({});
    TaskType& broken = simulator.type("broken", constraint);
    TaskType& sound = simulator.type("sound", 100);
    for (int i = 0; i < 200; ++i) {
      simulator.arrive(broken, 1).fails = true;
      simulator.arrive(sound, 1);
    }
    simulator.run();
    EXPECT_EQ(simulator.ended, 400U);
    EXPECT_EQ(broken.failed, 200U);
    EXPECT_EQ(sound.failed, 0U);
  }
}

TEST(Budget, WithdrawnRequestsAreGone) {
  Budget budget;
  TaskType& type = budget.type({"write", 100, Direction::write}, 100, 64);
  std::vector<Candidate> candidates(4);
  int owners[2];
  CandidateList admitted;
  for (std::size_t i = 0; i < 4; ++i) {
    candidates[i].type = &type;
    candidates[i].owner = &owners[i % 2];
    budget.enter(candidates[i], 0, admitted);
  }
  EXPECT_TRUE(budget.held_elsewhere(&owners[1])) << "owner 0 has the device";
  EXPECT_FALSE(budget.held_elsewhere(&owners[0]));
  CandidateList withdrawn;
  budget.withdraw([&](const Candidate& candidate) { return candidate.owner == &owners[1]; }, 1, withdrawn, admitted);
  EXPECT_EQ(count(withdrawn), 2U);
  EXPECT_FALSE(budget.held_elsewhere(&owners[1]));
  CandidateList next;
  budget.leave(candidates[0], {}, 2, next);
  EXPECT_EQ(next.front(), &candidates[2]);
}

// Lanes of candidates look at how many tasks the device is given to.
TEST(Budget, TheDeviceHearsOfTasksThatEnterBecauseOthersWithdrew) {
  device::Device disk(0, 0, 0);
  Budget budget(&disk);
  Candidate half;
  Candidate whole;
  Candidate tuned;
  half.type = &budget.type({"half", 50, Direction::write}, 100, 64);
  whole.type = &budget.type({"whole", 100, Direction::write}, 100, 64);
  tuned.type = &budget.type({"tuned", "adaptive", Direction::write}, 100, 64);
  CandidateList admitted;
  for (Candidate* candidate : {&half, &whole, &tuned}) {
    budget.enter(*candidate, 0, admitted);
  }
  EXPECT_EQ(count(admitted), 1U);
  EXPECT_EQ(disk.tasks_at_once(), 0U);
  CandidateList withdrawn;
  CandidateList next;
  budget.withdraw([&](const Candidate& candidate) { return &candidate == &whole; }, 1, withdrawn, next);
  EXPECT_EQ(next.front(), &tuned);
  EXPECT_GT(disk.tasks_at_once(), 0U);
  budget.leave(tuned, {}, 2, admitted);
  EXPECT_EQ(disk.tasks_at_once(), 0U);
}

// Each name has a bandwidth of its own. What a task takes of that is its part of the device, by whatever name.
TEST(Budget, PartsOfADeviceAddUpOverItsNames) {
  Budget budget;
  TaskType& half = budget.type({"write", 50, Direction::write, "slow"}, 100, 64);
  TaskType& quarter = budget.type({"write", 50, Direction::write, "fast"}, 200, 64);
  ASSERT_NE(&half, &quarter);
  std::vector<Candidate> candidates(4);
  CandidateList admitted;
  for (Candidate& candidate : candidates) {
    candidate.type = &candidate == &candidates[0] ? &half : &quarter;
    budget.enter(candidate, 0, admitted);
  }
  EXPECT_EQ(count(admitted), 3U) << "1/2 + 1/4 + 1/4";
  EXPECT_EQ(candidates[3].place, Candidate::Place::waiting);
  EXPECT_NE(budget.waits_for(candidates[3]).find("device 'fast'"), std::string::npos)
      << budget.waits_for(candidates[3]);
  CandidateList next;
  budget.leave(candidates[0], {}, 1, next);
  EXPECT_EQ(next.front(), &candidates[3]);
}

// Two searches would each take the other's tasks for a slower device, and together have twice as many there.
TEST(Budget, TasksOfTwoNamesShareOneLevelOfWhichTheDeviceHears) {
  device::Device device(0, 0, 0);
  Budget budget(&device);
  budget.begin_with(20);
  std::vector<Candidate> candidates(100);
  CandidateList inside;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    candidates[i].type =
        &budget.type({"write", "adaptive", Direction::write, i % 2 == 0 ? "one" : "two"}, i % 2 == 0 ? 100 : 0, 64);
    budget.enter(candidates[i], 0, inside);
  }
  EXPECT_EQ(inside.size(), 20U);
  EXPECT_EQ(device.tasks_at_once(), 20U);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    budget.leave(*inside.pop(), {.failed = true}, 1, inside);
  }
  EXPECT_EQ(device.tasks_at_once(), 0U);
}

TEST(Budget, TheMostOfADeviceHoldsFromWhenItIsConfigured) {
  device::Device device(0, 0, 0);
  Budget budget(&device);
  TaskType& type = budget.type({"write", 10, Direction::write}, 100, 64);
  std::vector<Candidate> candidates(10);
  CandidateList inside;
  for (std::size_t i = 0; i < 5; ++i) {
    candidates[i].type = &type;
    budget.enter(candidates[i], 0, inside);
  }
  EXPECT_EQ(inside.size(), 5U);
  device.configure(3, false);
  candidates[5].type = &type;
  budget.enter(candidates[5], 0, inside);
  for (const std::size_t inside_then : {4U, 3U, 3U}) {
    EXPECT_EQ(candidates[5].place, Candidate::Place::waiting);
    budget.leave(*inside.pop(), {}, 1, inside);
    EXPECT_EQ(inside.size(), inside_then);
  }
  EXPECT_EQ(candidates[5].place, Candidate::Place::inside);
}

TEST(Budget, ProgramsThatLabelEveryTaskAreBounded) {
  Budget budget;
  for (int i = 0; i < 5000; ++i) {
    budget.type({"task " + std::to_string(i), 1, Direction::write}, 100, 64);
  }
  // The last one is that of all others.
  budget.inspect([](const Budget& known) {
    EXPECT_EQ(known.types().size(), 257U);
    EXPECT_EQ(known.types().at(255)->label, "task 255");
    EXPECT_NE(known.types().at(256)->label, "task 256");
  });
}

TEST(Budget, ADeviceThatGivesLittleIsRememberedInItsUnit) {
  Budget budget;
  budget.recall({3, 0.5});
  EXPECT_EQ(budget.remember().at_once, 3U);
  EXPECT_EQ(budget.remember().rate, 0.5);
}

TEST(Budget, TheMostOfADeviceHoldsForEveryConstraint) {
  constexpr unsigned most = 3;
  for (const char* constraint : {"none", "1", "auto", "auto(10,400,2)", "adaptive"}) {
    Simulator simulator(CongestionLaw{}, 64, most);
    TaskType& type = simulator.type("checkpoint", constraint);
    for (unsigned i = 0; i < 40; ++i) {
      simulator.arrive(type, 16);
      simulator.arrive(simulator.type("other", "none"), 16);
    }
    simulator.run();
    simulator.budget.inspect([&](const Budget& known) {
      EXPECT_EQ(known.tasks(), 80U) << constraint;
      EXPECT_LE(known.most_inside(), most) << constraint;
    });
    if (type.automatic != nullptr && constraint == std::string("auto")) {
      EXPECT_EQ(type.automatic->registry().front().at_once, most) << "it begins with as many as there can be";
    }
  }
}

}  // namespace
}  // namespace dovetail::admission::test
