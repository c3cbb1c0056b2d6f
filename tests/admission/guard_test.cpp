// Tasks without constraint are held back where they congest, and nowhere else; `auto` begins with few where nobody says with how many.
#include <gtest/gtest.h>
#include <unistd.h>

#include <barrier>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "dovetail/dovetail.hpp"
#include "simulator.hpp"

namespace dovetail::admission::test {
namespace {

namespace fs = std::filesystem;

struct Outcome {
  double seconds = 0;
  bool held_back = false;
  unsigned most_inside = 0;
};

/// Tasks without constraint on a device, from a program with two cores.
struct Program {
  int tasks = 64;
  double megabytes = 16.8;
  double compute = 0.05;   ///< Seconds of a core before each I/O task is ready; 0: all are ready at once.
  double prepare = 0.003;  ///< And in it, before it uses the device.

  Outcome run(const CongestionLaw& law, const char* constraint = "none", bool bytes_known = true) const {
    Simulator simulator(law);
    simulator.start_with(4);
    TaskType& type = simulator.type("checkpoint", constraint);
    for (int i = 0; i < tasks; ++i) {
      SimulatedTask& task =
          compute > 0 ? simulator.compute(type, megabytes, compute) : simulator.arrive(type, megabytes);
      task.processor = prepare;
      task.bytes_known = bytes_known;
    }
    const double seconds = simulator.run();
    Outcome result{seconds, type.held_back, 0};
    simulator.budget.inspect([&](const Budget& budget) { result.most_inside = budget.most_inside(); });
    return result;
  }

  /// If the two cores did all of it themselves.
  double without_io_tasks(const CongestionLaw& law) const {
    return tasks / 2.0 * (compute + prepare + 2 * megabytes / law.bandwidth(2));
  }
};

const CongestionLaw likes_four{};
const CongestionLaw disk{400, 1, 1, 0.3};
const CongestionLaw bad_disk{400, 1, 1, 5};
const CongestionLaw likes_eight{400, 4, 8, 0.5};
const CongestionLaw likes_sixteen{400, 16, 16, 0.15};
const CongestionLaw scales{400, 64, 64, 0};

TEST(Unconstrained, AreHeldBackIfTheyHinderEachOther) {
  for (const CongestionLaw& law : {likes_four, disk, likes_eight}) {
    const Outcome guarded = Program{}.run(law);
    const Outcome free = Program{}.run(law, "none", false);
    EXPECT_TRUE(guarded.held_back) << law.penalty;
    EXPECT_LT(guarded.most_inside, free.most_inside / 2) << law.penalty;
    EXPECT_LT(guarded.seconds, Program{}.without_io_tasks(law)) << law.penalty;
    EXPECT_FALSE(free.held_back) << law.penalty;
  }
}

TEST(Unconstrained, ManySmallOnesThatComeBeforeTheFirstHasEnded) {
  const Program small{1000, 4.2, 0.002, 0.001};
  for (const CongestionLaw& law : {likes_four, disk, bad_disk, likes_eight, likes_sixteen, scales}) {
    EXPECT_LT(small.run(law).seconds, small.without_io_tasks(law)) << law.saturation << ' ' << law.penalty;
  }
  for (const CongestionLaw& law : {likes_four, likes_eight, likes_sixteen}) {
    EXPECT_LT(small.run(law).seconds, 1.05 * small.run(law, "adaptive").seconds) << law.saturation;
  }
}

TEST(Unconstrained, ReadyAtOnce) {
  for (const double prepare : {0.003, 0.05}) {
    const Program burst{64, 16.8, 0, prepare};
    for (const CongestionLaw& law : {likes_four, disk, bad_disk, likes_eight}) {
      EXPECT_LT(burst.run(law).seconds, 1.5 * burst.without_io_tasks(law)) << law.penalty << ' ' << prepare;
    }
  }
}

TEST(Unconstrained, LetsAsManyRunAsADeviceLikes) {
  for (const int tasks : {100, 400}) {
    const Program program{tasks, 4.2, 0.002, 0};
    const Outcome all = program.run(scales);
    EXPECT_GE(all.most_inside, 60U);
    // Five doublings with two tasks each, during which the device is not full.
    EXPECT_LT(all.seconds, program.run(scales, "none", false).seconds + 3.5) << tasks;
    EXPECT_LT(all.seconds, program.run(scales, "adaptive").seconds) << tasks;
  }
}

// Ends after each other, among so many. Returns the budget's word.
void end_one(Budget& budget, TaskType& type, std::uint64_t bytes, double& now) {
  Request request;
  request.type = &type;
  RequestList admitted;
  budget.enter(request, now, admitted);
  budget.leave(request, {false, bytes != 0, bytes}, now += 0.1, admitted);
}

TEST(Unconstrained, GivesUpOnTasksThatTransferNothing) {
  for (const std::uint64_t first : {0U, 1'000'000U}) {
    Budget budget("device");
    TaskType& type = budget.type({"sleep", "none", Direction::write}, 0, 64, 4);
    double now = 0;
    end_one(budget, type, first, now);
    for (int i = 0; i < 50; ++i) {
      EXPECT_TRUE(i > 30 || !budget.needless());
      end_one(budget, type, 0, now);
    }
    EXPECT_EQ(budget.needless(), first == 0);
  }
}

TEST(Unconstrained, TasksThatTransferNothingAreNotHeldBackBesideOthers) {
  Budget budget("device");
  TaskType& writes = budget.type({"write", "none", Direction::write}, 0, 64, 4);
  TaskType& sleeps = budget.type({"sleep", "none", Direction::write}, 0, 64, 4);
  double now = 0;
  end_one(budget, writes, 1'000'000, now);
  end_one(budget, sleeps, 0, now);
  const auto inside = [&](TaskType& type) {
    std::vector<Request> requests(40);
    std::size_t count = 0;
    RequestList admitted;
    for (Request& request : requests) {
      request.type = &type;
      budget.enter(request, now, admitted);
    }
    for (Request& request : requests) {
      count += request.place == Request::Place::inside ? 1 : 0;
    }
    for (std::size_t i = 0; i < requests.size(); ++i) {
      Request* const request = admitted.take();
      budget.leave(*request, {true}, now, admitted);
    }
    return count;
  };
  EXPECT_EQ(inside(writes), 4U);
  EXPECT_EQ(inside(sleeps), 40U);
}

TEST(Unconstrained, OfAllTypesOnADeviceTogether) {
  Simulator simulator(likes_four);
  simulator.start_with(4);
  std::vector<TaskType*> types;
  for (const char* label : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    types.push_back(&simulator.type(label, "none"));
  }
  for (std::size_t i = 0; i < 64; ++i) {
    simulator.arrive(*types[i % types.size()], 16.8, 0.05 + static_cast<double>(i) * 0.025);
  }
  EXPECT_LT(simulator.run(), 3.1) << "2.7 s at best, 20 s without";
}

TEST(AutoStart, IsWhereTheBudgetIsTold) {
  const auto first = [](unsigned executors, unsigned starting, unsigned most, const char* constraint) {
    Budget budget("device", most);
    const TaskType& type = budget.type({"write", constraint, Direction::write}, 400, executors, starting);
    return type.automatic->at_once();
  };
  EXPECT_EQ(first(64, 4, 0, "auto"), 4U);
  EXPECT_EQ(first(64, 0, 0, "auto"), 64U);
  EXPECT_EQ(first(2, 4, 0, "auto"), 2U) << "there are no more";
  EXPECT_EQ(first(64, 4, 8, "auto"), 8U) << "the device's own number wins";
  EXPECT_EQ(first(64, 4, 0, "auto(25,400,2)"), 16U) << "bounds win";
}

class Started : public testing::Test {
 protected:
  Started() {
    alarm(120);
    std::string name = (fs::temp_directory_path() / "dovetail-guard-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    name_ = folder_.filename().string();
    std::ofstream(folder_ / "dovetail.toml")
        << "[[device]]\nname = \"" << name_ << "\"\npaths = [\".\"]\nread = 100\nwrite = 100\n";
  }
  ~Started() override {
    fs::remove_all(folder_);
    alarm(0);
  }

  int first_at_once(unsigned workers, unsigned executors) const {
    Runtime runtime({.workers = workers, .io_executors = executors, .config = (folder_ / "dovetail.toml").string()});
    runtime.spawn({.label = "write", .io = true, .storage_bw = "auto", .device = name_}, [] {}).get();
    const nlohmann::json report = nlohmann::json::parse(admission_report());
    for (const nlohmann::json& device : report.at("devices")) {
      if (device.at("name") == name_) {
        return device.at("types").at(0).at("history").at(0).at("at_once");
      }
    }
    return 0;
  }

  fs::path folder_;
  std::string name_;
};

TEST_F(Started, AutoBeginsWithTwiceTheWorkers) { EXPECT_EQ(first_at_once(3, 0), 6); }
TEST_F(Started, AutoBeginsWithFourAtLeast) { EXPECT_EQ(first_at_once(1, 0), 4); }
TEST_F(Started, AutoBeginsWithTheExecutorsThatWereAskedFor) { EXPECT_EQ(first_at_once(2, 11), 11); }

// As many as there are executors wait for each other: any limit would let them wait for ever.
TEST_F(Started, TasksOfAnUnknownDeviceMayWaitForEachOther) {
  Runtime runtime({.workers = 2, .config = (folder_ / "dovetail.toml").string()});
  constexpr int together = 40;
  for (const char* device : {"*", name_.c_str()}) {
    for (int round = 0; round < 3; ++round) {
      std::barrier all(together);
      for (int i = 0; i < together; ++i) {
        runtime.spawn({.label = "meet", .io = true, .device = device}, [&] { all.arrive_and_wait(); });
      }
      runtime.wait();
    }
  }
}

}  // namespace
}  // namespace dovetail::admission::test
