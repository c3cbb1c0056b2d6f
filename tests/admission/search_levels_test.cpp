// Which levels `adaptive` tries, in which order, and for how many tasks it stays at each. The promises are in learners_test.cpp and measured_test.cpp;
// here is what a search costs a program on each device. A change of the law of control changes these figures: look at each before taking it over.
// One thread.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "checkpoints.hpp"

namespace dovetail::admission::test {
namespace {

// "4*2 3": three tasks ended at level 4 and two ...
class Trail {
 public:
  explicit Trail(Simulator& simulator) : simulator_(simulator) {
    simulator.on_end = [this](SimulatedTask& task) {
      if (also) {
        also(task);
      }
      note();
    };
  }
  std::string text() const {
    std::string all;
    for (const auto& [level, tasks] : steps_) {
      all += (all.empty() ? "" : " ") + std::to_string(level) + "*" + std::to_string(tasks);
    }
    return all;
  }
  std::function<void(SimulatedTask&)> also;

 private:
  void note() {
    const unsigned level = simulator_.budget.adaptive().at_once();
    if (steps_.empty() || steps_.back().first != level) {
      steps_.emplace_back(level, 0);
    }
    ++steps_.back().second;
  }
  Simulator& simulator_;
  std::vector<std::pair<unsigned, unsigned>> steps_;
};

constexpr unsigned tasks = 400;

std::string plain(const CongestionLaw& law, double said, bool bytes_known, unsigned executors = 64) {
  Simulator simulator(law, executors);
  Trail trail(simulator);
  TaskType& type = simulator.type("checkpoint", "adaptive", said);
  for (unsigned i = 0; i < tasks; ++i) {
    simulator.arrive(type, checkpoint).bytes_known = bytes_known;
  }
  simulator.run();
  return trail.text();
}

std::string changing(const CongestionLaw& before, const CongestionLaw& after, bool of_many_sizes = false) {
  Simulator simulator(before);
  Trail trail(simulator);
  trail.also = [&](SimulatedTask&) { simulator.law = simulator.ended >= 200 ? after : before; };
  TaskType& type = simulator.type("checkpoint", "adaptive");
  std::mt19937 random(11);
  for (unsigned i = 0; i < 2 * tasks; ++i) {
    if (of_many_sizes) {
      simulator.arrive(type, checkpoint * static_cast<double>(1 + random() % 8) / 4, i / 10);
    } else {
      simulator.arrive(type, checkpoint);
    }
  }
  simulator.run();
  return trail.text();
}

std::string mixed(bool bytes_known) {
  Simulator simulator(ssd);
  Trail trail(simulator);
  TaskType& type = simulator.type("checkpoint", "adaptive");
  std::mt19937 random(11);
  for (unsigned i = 0; i < tasks; ++i) {
    simulator.arrive(type, checkpoint * static_cast<double>(1 + random() % 8) / 4, i / 10).bytes_known = bytes_known;
  }
  simulator.run();
  return trail.text();
}

// Of a device that was measured at these depths, some of them badly.
std::string measured(const CongestionLaw& law, const std::vector<device::Level>& curve) {
  Simulator simulator(law);
  simulator.budget.begin_near(curve);
  Trail trail(simulator);
  TaskType& type = simulator.type("checkpoint", "adaptive", device::highest_rate(curve));
  for (unsigned i = 0; i < tasks; ++i) {
    simulator.arrive(type, checkpoint);
  }
  simulator.run();
  return trail.text();
}

std::vector<device::Level> curve_of(const CongestionLaw& law, const std::vector<unsigned>& depths, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<device::Level> curve;
  for (const unsigned depth : depths) {
    curve.push_back({depth, law.bandwidth(depth) * (0.95 + static_cast<double>(random() % 11) / 100)});
  }
  return curve;
}

std::string bursts(unsigned first, double apart) {
  Simulator simulator({400, 6, 8, 0.3});
  simulator.budget.begin_with(2);
  Trail trail(simulator);
  TaskType& type = simulator.type("checkpoint", "adaptive");
  for (unsigned i = 0; i < tasks; ++i) {
    simulator.arrive(type, checkpoint, i < first ? 0 : 1 + (i - first) / 7 * apart);
  }
  simulator.run();
  return trail.text();
}

TEST(SearchLevels, OfDevicesOfWhichNothingIsKnown) {
  const std::vector<std::string> expected{
      "4*1 2*4 4*2 3*4 1*3 2*100 3*2 2*284",      "4*1 2*4 3*2 1*393",
      "4*1 2*4 4*2 3*4 1*173 2*2 1*170 2*2 1*42", "4*1 2*4 4*2 3*389 2*2 3*2",
      "4*1 2*4 8*4 6*7 5*6 3*4 4*221 5*3 4*150",  "4*1 2*4 8*4 10*9 6*8 7*7 5*6 6*103 7*5 6*253",
      "4*1 2*4 8*4 12*10 10*11 6*8 8*362",        "4*1 2*4 4*2 3*4 1*3 2*100 3*2 2*284",
  };
  for (std::size_t i = 0; i < laws.size(); ++i) {
    EXPECT_EQ(plain(laws[i], 0, true), expected[i]) << name(laws[i]);
    EXPECT_EQ(plain(laws[i], laws[i].peak / 2, false), expected[i]) << "of equal tasks the number is enough";
  }
  const CongestionLaw wide{4000, 40, 60, 0.1};
  EXPECT_EQ(plain(wide, 0, true), "4*1 2*4 8*4 12*10 18*15 27*23 40*33 60*50 50*55 33*42 40*163");
  EXPECT_EQ(plain(wide, 0, true, 24), "4*1 2*4 8*4 12*10 18*15 24*366") << "no more than there are executors";
}

TEST(SearchLevels, OfDevicesThatAreSaidToGiveWhatTheyGive) {
  const std::vector<std::string> expected{
      "4*368 5*6 4*26",
      "4*1 2*4 3*2 1*393",
      "4*1 2*4 4*2 3*4 1*173 2*2 1*170 2*2 1*42",
      "4*1 2*4 4*2 3*389 2*2 3*2",
      "4*368 5*6 4*26",
      "4*1 2*4 8*395",
      "4*1 2*4 8*395",
      "4*368 5*6 4*26",
  };
  for (std::size_t i = 0; i < laws.size(); ++i) {
    EXPECT_EQ(plain(laws[i], laws[i].peak, true), expected[i]) << name(laws[i]);
  }
}

TEST(SearchLevels, OfDevicesThatChange) {
  EXPECT_EQ(changing(ssd, {200, 2, 4, 0.15}), "4*203 3*2 4*368 5*4 1*6 2*217");
  EXPECT_EQ(changing({200, 1, 1, 1}, {800, 2, 4, 0.15}),
            "4*1 2*4 3*2 1*197 2*2 4*2 3*4 2*101 3*2 2*351 1*2 2*100 3*2 2*30");
  EXPECT_EQ(changing({400, 4, 4, 0.15}, {200, 2, 2, 0.15}), "4*203 3*2 2*3 1*2 2*175 3*3 2*351 1*2 2*59");
  EXPECT_EQ(changing({400, 6, 8, 0.3}, {380, 6, 8, 0.3}), "4*1 2*4 8*581 9*8 8*206") << "five percent are no change";
  EXPECT_EQ(changing({200, 4, 5.2, 0.15}, {800, 4, 5.2, 0.15}, true), "4*210 8*14 5*6 6*4 5*180 4*150 5*8 4*228")
      << "more than were held before only because they give more";
}

TEST(SearchLevels, OfTasksOfManySizes) {
  EXPECT_EQ(mixed(true), "4*165 3*117 4*4 3*114");
  EXPECT_EQ(mixed(false), "4*27 2*27 4*29 3*55 4*2 5*34 4*226");
}

TEST(SearchLevels, OfDevicesThatWereMeasured) {
  const CongestionLaw nine{400, 9, 11, 0.15};
  const CongestionLaw six{400, 6, 8, 0.15};
  EXPECT_EQ(measured(nine, curve_of(nine, {1, 2, 4, 8, 16, 32}, 0)), "8*3 10*397");
  EXPECT_EQ(measured(nine, curve_of(nine, {1, 3, 12, 24}, 0)), "12*400");
  EXPECT_EQ(measured(six, curve_of(six, {1, 2, 4, 8, 16, 32}, 0)), "8*400");
  EXPECT_EQ(measured(six, curve_of(six, {1, 3, 12, 24}, 0)), "12*5 9*11 10*9 9*301 10*6 9*68");
  EXPECT_EQ(measured(ssd, curve_of(ssd, {1, 2, 4, 8, 16, 32}, 0)), "2*1 3*2 1*3 2*100 3*2 2*292");
  EXPECT_EQ(measured(ssd, curve_of(ssd, {1, 3, 12, 24}, 0)), "3*1 4*3 3*102 4*4 3*219 2*4 1*2 2*65");
  EXPECT_EQ(measured(six, {{3, 200}, {5, 380}}), "5*2 6*5 7*7 6*103 7*6 6*263 5*7 6*7");
  EXPECT_EQ(measured(six, {{4, 300}}), "4*1 5*5 6*5 12*9 9*11 7*8 6*104 7*5 6*252") << "a place to begin";
}

TEST(SearchLevels, OfBursts) {
  EXPECT_EQ(bursts(10, 0.3), "2*1 3*2 6*397");
  EXPECT_EQ(bursts(100, 0.25), "2*1 3*2 6*390 5*4 6*3");
}

}  // namespace
}  // namespace dovetail::admission::test
