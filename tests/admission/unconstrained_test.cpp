// Tasks without constraint: counted and never kept waiting by the budget. How many run is the executors' affair: few, while they use a device.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "dovetail/dovetail.hpp"
#include "simulator.hpp"

namespace dovetail::admission::test {
namespace {

namespace fs = std::filesystem;

/// Tasks without constraint on a device, from a program with two cores.
struct Program {
  int tasks = 64;
  double megabytes = 16.8;
  double compute = 0.05;   ///< Seconds of a core before each I/O task is ready; 0: all are ready at once.
  double prepare = 0.003;  ///< And in it, before it uses the device.

  double run(const CongestionLaw& law, const char* constraint = "none") const {
    Simulator simulator(law);
    simulator.start_with(4);
    TaskType& type = simulator.type("checkpoint", constraint);
    for (int i = 0; i < tasks; ++i) {
      SimulatedTask& task =
          compute > 0 ? simulator.compute(type, megabytes, compute) : simulator.arrive(type, megabytes);
      task.processor = prepare;
    }
    return simulator.run();
  }

  /// If the two cores did all of it themselves, two tasks at a time.
  double without_io_tasks(const CongestionLaw& law) const {
    return std::ceil(tasks / 2.0) * (compute + prepare + 2 * megabytes / law.bandwidth(2));
  }
};

const CongestionLaw likes_four{};
const CongestionLaw disk{400, 1, 1, 0.3};
const CongestionLaw bad_disk{400, 1, 1, 5};
const CongestionLaw likes_eight{400, 4, 8, 0.5};
const CongestionLaw likes_sixteen{400, 16, 16, 0.15};
const CongestionLaw scales{400, 64, 64, 0};

constexpr std::array laws{likes_four,
                          disk,
                          bad_disk,
                          likes_eight,
                          likes_sixteen,
                          scales,
                          CongestionLaw{400, 2, 2, 0.2},
                          CongestionLaw{1600, 1, 4, 0.1}};

// Without I/O tasks two cores write, with them four tasks do. So the program is slower only where four get less than two, and by no more than that.
TEST(Unconstrained, AreAsSlowAsFourWritersAtMost) {
  const char* const given = std::getenv("DOVETAIL_TEST_SEED");
  const auto seed = given == nullptr ? 1U : static_cast<unsigned>(std::strtoul(given, nullptr, 10));
  std::printf("seed %u (DOVETAIL_TEST_SEED)\n", seed);
  std::mt19937 random(seed);
  for (std::size_t number = 0; number < laws.size(); ++number) {
    double worst = 0;
    double sum = 0;
    constexpr int programs = 150;
    for (int i = 0; i < programs; ++i) {
      std::uniform_real_distribution<double> exponent(0, 1);
      Program program;
      program.tasks = 8 + static_cast<int>(random() % 200);
      program.megabytes = std::pow(10, 0.3 + 1.5 * exponent(random));
      program.compute = std::pow(10, -3 + 2.3 * exponent(random));
      program.prepare = program.megabytes / 4000;
      const double ratio = program.run(laws[number]) / program.without_io_tasks(laws[number]);
      worst = std::max(worst, ratio);
      sum += ratio;
    }
    const double lost = std::max(1.0, laws[number].bandwidth(2) / laws[number].bandwidth(4));
    std::printf("law %zu: %.2f of the time without I/O tasks on average, %.2f at worst; four writers for two: %.2f\n",
                number, sum / programs, worst, lost);
    EXPECT_LT(worst, 1.02 * lost) << number;
  }
}

// Tasks with a constraint fill the device, or learn; those without one come and go.
TEST(Unconstrained, WaitForNobodyAndLetNobodyWait) {
  Budget budget("device");
  double now = 0;
  const auto enter = [&](TaskType& type, Request& request) {
    RequestList admitted;
    request.type = &type;
    budget.enter(request, now += 0.1, admitted);
    return admitted.front() == &request && request.place == Request::Place::inside;
  };
  const auto leave = [&](Request& request) {
    RequestList admitted;
    budget.leave(request, {false, true, 1'000'000}, now += 0.1, admitted);
  };
  const auto count_in = [&](TaskType& type, Request& request) {
    request.type = &type;
    budget.count_in(request, now += 0.1);
  };
  TaskType& none = budget.type({"free", "none", Direction::write}, 400, 64, 4);
  EXPECT_FALSE(budget.limits(none));
  for (const char* constraint : {"400", "auto", "adaptive"}) {
    TaskType& type = budget.type({"bound", constraint, Direction::write}, 400, 64, 1);
    std::array<Request, 100> free;
    for (std::size_t i = 0; i < 50; ++i) {
      count_in(none, free[i]);
    }
    std::array<Request, 20> bound;
    EXPECT_TRUE(enter(type, bound[0])) << constraint;
    bool waits = false;
    for (std::size_t i = 1; i < bound.size(); ++i) {
      waits = !enter(type, bound[i]) || waits;
    }
    EXPECT_TRUE(waits) << constraint;
    EXPECT_TRUE(budget.limits(type));
    for (std::size_t i = 50; i < 100; ++i) {
      count_in(none, free[i]);
    }
    for (Request& request : free) {
      leave(request);
    }
    for (Request& request : bound) {
      ASSERT_EQ(request.place, Request::Place::inside) << constraint;
      leave(request);
    }
  }
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
    std::string name = (fs::temp_directory_path() / "dovetail-unconstrained-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    name_ = folder_.filename().string();
    std::ofstream(folder_ / "dovetail.toml")
        << "[[device]]\nname = \"" << name_ << "\"\npaths = [\".\"]\nread = 100\nwrite = 100\n";
  }
  ~Started() override { fs::remove_all(folder_); }

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
TEST_F(Started, TasksOfADeviceMayWaitForEachOther) {
  Runtime runtime({.workers = 2, .config = (folder_ / "dovetail.toml").string()});
  constexpr int together = 40;
  std::barrier all(together);
  for (int i = 0; i < together; ++i) {
    runtime.spawn({.label = "meet", .io = true, .device = name_}, [&] { all.arrive_and_wait(); });
  }
  runtime.wait();
}

}  // namespace
}  // namespace dovetail::admission::test
