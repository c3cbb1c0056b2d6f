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

// What two computing cores make: a task every 25 ms, with 16.8 MB each.
struct Outcome {
  double seconds = 0;
  bool held_back = false;
  unsigned most_inside = 0;
};

Outcome checkpoints(const CongestionLaw& law, bool bytes_known, int tasks = 64) {
  Simulator simulator(law);
  TaskType& type = simulator.type("checkpoint", "none");
  for (int i = 0; i < tasks; ++i) {
    simulator.arrive(type, 16.8, 0.05 + i * 0.025).bytes_known = bytes_known;
  }
  const double seconds = simulator.run();
  Outcome result{seconds, type.held_back, 0};
  simulator.budget.inspect([&](const Budget& budget) { result.most_inside = budget.most_inside(); });
  return result;
}

TEST(CongestionGuard, HoldsBackTasksThatHinderEachOther) {
  const double by_two_cores = 32 * (0.05 + 2 * 16.8 / 400);
  for (const CongestionLaw& law : {CongestionLaw{}, CongestionLaw{400, 1, 1, 0.3}, CongestionLaw{400, 4, 8, 0.5}}) {
    const Outcome guarded = checkpoints(law, true);
    const Outcome free = checkpoints(law, false);
    EXPECT_TRUE(guarded.held_back) << law.penalty;
    EXPECT_LT(guarded.most_inside, free.most_inside / 2) << law.penalty;
    EXPECT_LT(guarded.seconds, 0.6 * free.seconds) << law.penalty;
    EXPECT_FALSE(free.held_back) << law.penalty;
  }
  EXPECT_LT(checkpoints({}, true).seconds, by_two_cores);
}

TEST(CongestionGuard, LetsAsManyRunAsADeviceLikes) {
  const CongestionLaw scales{400, 64, 64, 0};
  const Outcome all = checkpoints(scales, true, 400);
  EXPECT_FALSE(all.held_back);
  EXPECT_GE(all.most_inside, 60U);
  const Outcome free = checkpoints(scales, false, 400);
  EXPECT_LT(all.seconds, 1.1 * free.seconds) << "it takes a while until that is known";
}

// Ends after each other, among so many. Returns the budget's word.
void end_one(Budget& budget, TaskType& type, std::uint64_t bytes, double& now) {
  Request request;
  request.type = &type;
  RequestList admitted;
  budget.enter(request, now, admitted);
  budget.leave(request, {false, bytes != 0, bytes}, now += 0.1, admitted);
}

TEST(CongestionGuard, GivesUpOnTasksThatTransferNothing) {
  for (const std::uint64_t first : {0U, 1'000'000U}) {
    Budget budget("device");
    TaskType& type = budget.type({"sleep", "none", Direction::write}, 0, 64);
    double now = 0;
    end_one(budget, type, first, now);
    for (int i = 0; i < 50; ++i) {
      EXPECT_TRUE(i > 30 || !budget.needless());
      end_one(budget, type, 0, now);
    }
    EXPECT_EQ(budget.needless(), first == 0);
  }
}

TEST(CongestionGuard, TasksThatTransferNothingAreNotHeldBackBesideOthers) {
  Budget budget("device");
  TaskType& writes = budget.type({"write", "none", Direction::write}, 0, 64);
  TaskType& sleeps = budget.type({"sleep", "none", Direction::write}, 0, 64);
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
  EXPECT_EQ(inside(writes), 4U) << "twice one is less than four";
  EXPECT_EQ(inside(sleeps), 40U);
}

TEST(CongestionGuard, OfAllTypesOnADeviceTogether) {
  Simulator simulator({});
  std::vector<TaskType*> types;
  for (const char* label : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    types.push_back(&simulator.type(label, "none"));
  }
  for (std::size_t i = 0; i < 64; ++i) {
    simulator.arrive(*types[i % types.size()], 16.8, 0.05 + static_cast<double>(i) * 0.025);
  }
  EXPECT_LT(simulator.run(), 4.2) << "2.7 s at best, 20 s without";
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
