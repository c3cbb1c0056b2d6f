// Shares, settings and memory: everything that needs no runtime.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "admission/budget.hpp"
#include "admission/configuration.hpp"
#include "admission/memory.hpp"
#include "dovetail/admission.hpp"
#include "simulator.hpp"

namespace dovetail::admission::test {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "dovetail-admission-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string write(const std::string& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
    return (path / name).string();
  }
  fs::path path;
};

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "not refused";
}

std::size_t count(const RequestList& list) {
  std::size_t result = 0;
  for (const Request* request = list.first; request != nullptr; request = request->next) {
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
  Budget budget("device");
  TaskType& type = budget.type({"write", 20, Direction::write}, 100, 64);
  std::vector<Request> requests(7);
  RequestList admitted;
  for (Request& request : requests) {
    request.type = &type;
    budget.enter(request, 0, admitted);
  }
  EXPECT_EQ(count(admitted), 5U);
  RequestList next;
  budget.leave(requests[0], {}, 1, next);
  EXPECT_EQ(next.first, &requests[5]);
  EXPECT_EQ(count(next), 1U);
}

TEST(Budget, SharesOfTypesAddUpAndNobodyIsOvertaken) {
  Budget budget("device");
  TaskType& small = budget.type({"small", 20, Direction::write}, 100, 64);
  TaskType& large = budget.type({"large", 80, Direction::write}, 100, 64);
  std::vector<Request> requests(5);
  requests[0].type = requests[1].type = requests[3].type = &small;
  requests[2].type = &large;
  requests[4].type = &small;
  requests[4].priority = 1;
  RequestList admitted;
  for (std::size_t i = 0; i < 4; ++i) {
    budget.enter(requests[i], 0, admitted);
  }
  EXPECT_EQ(count(admitted), 2U) << "the large one does not fit, and the small one behind it waits";
  budget.enter(requests[4], 0, admitted);
  EXPECT_EQ(count(admitted), 3U) << "what is more urgent goes before";
  RequestList next;
  budget.leave(requests[0], {}, 1, next);
  budget.leave(requests[4], {}, 1, next);
  EXPECT_EQ(next.first, &requests[2]);
  EXPECT_EQ(count(next), 1U);
}

// Four tasks of 1 000 MB each that take 10 s side by side: 400 MB/s at any time, and never 4 000 MB in the instant of their end.
TEST(Budget, ThroughputIsSpreadOverTheTimeOfTheTasks) {
  for (const double scale : {0.001, 1.0, 1000.0}) {  // short ones lie within an interval, for long ones intervals grow
    Budget budget("device");
    TaskType& type = budget.type({"write", 100, Direction::write}, 400, 64);
    std::vector<Request> requests(8);
    RequestList admitted;
    const auto enter = [&](std::size_t first, double now) {
      for (std::size_t i = first; i < first + 4; ++i) {
        requests[i].type = &type;
        budget.enter(requests[i], now * scale, admitted);
      }
    };
    const auto leave = [&](std::size_t first, double now) {
      for (std::size_t i = first; i < first + 4; ++i) {
        RequestList next;
        Outcome outcome;
        outcome.bytes_known = true;
        outcome.bytes = static_cast<std::uint64_t>(1e9 * scale);
        budget.leave(requests[i], outcome, now * scale, next);
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
  Budget budget("device");
  TaskType& type = budget.type({"write", 500, Direction::write}, 100, 64);
  std::vector<Request> requests(2);
  RequestList admitted;
  for (Request& request : requests) {
    request.type = &type;
    budget.enter(request, 0, admitted);
  }
  EXPECT_EQ(count(admitted), 1U);
}

// Section 4.2.3 B: no other I/O task on the device of a type that is learning.
TEST(Budget, NobodyElseEntersWhileATypeIsLearning) {
  Budget budget("device");
  TaskType& learning = budget.type({"learning", "auto(50,100,2)", Direction::write}, 100, 64);
  TaskType& other = budget.type({"other", 1, Direction::write}, 100, 64);
  std::vector<Request> requests(4);
  requests[0].type = requests[2].type = requests[3].type = &learning;
  requests[1].type = &other;
  RequestList admitted;
  for (Request& request : requests) {
    budget.enter(request, 0, admitted);
  }
  EXPECT_EQ(count(admitted), 2U) << "the epoch has two places, and its third task waits for the next epoch";
  EXPECT_EQ(requests[1].place, Request::Place::waiting);
  RequestList next;
  budget.leave(requests[0], {}, 1, next);
  EXPECT_TRUE(next.empty()) << "an epoch ends with all of its tasks";
  budget.leave(requests[2], {}, 1, next);
  EXPECT_EQ(next.first, &requests[3]);
  EXPECT_EQ(count(next), 1U);
  RequestList last;
  budget.leave(requests[3], {}, 2, last);
  EXPECT_FALSE(learning.learning());
  EXPECT_EQ(last.first, &requests[1]);
}

// On a cluster the others would run on other nodes. Here they are all there is.
TEST(Budget, AnEpochThatLacksTasksHoldsNobodyUp) {
  Budget budget("device");
  TaskType& learning = budget.type({"learning", "auto(25,100,2)", Direction::write}, 100, 64);
  TaskType& other = budget.type({"other", 1, Direction::write}, 100, 64);
  std::vector<Request> requests(3);
  requests[0].type = requests[2].type = &learning;
  requests[1].type = &other;
  RequestList admitted;
  budget.enter(requests[0], 0, admitted);
  budget.enter(requests[1], 0, admitted);
  EXPECT_EQ(count(admitted), 1U);
  RequestList next;
  budget.leave(requests[0], {}, 1, next);
  EXPECT_EQ(next.first, &requests[1]);
  RequestList third;
  budget.enter(requests[2], 1, third);
  EXPECT_TRUE(third.empty()) << "the device is not its own yet";
  budget.leave(requests[1], {}, 2, third);
  EXPECT_EQ(third.first, &requests[2]);
}

TEST(Budget, AutoIsEvaluatedAnewWhenTasksArrive) {
  Simulator simulator({100, 2, 2, 1}, 8);
  TaskType& type = simulator.type("write", "auto(25,100,2)");
  for (int i = 0; i < 7; ++i) {
    simulator.arrive(type, 10);
  }
  simulator.run();
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
  Budget budget("device");
  TaskType& type = budget.type({"write", 100, Direction::write}, 100, 64);
  std::vector<Request> requests(4);
  int owners[2];
  RequestList admitted;
  for (std::size_t i = 0; i < 4; ++i) {
    requests[i].type = &type;
    requests[i].owner = &owners[i % 2];
    budget.enter(requests[i], 0, admitted);
  }
  EXPECT_TRUE(budget.held_elsewhere(&owners[1])) << "owner 0 has the device";
  EXPECT_FALSE(budget.held_elsewhere(&owners[0]));
  RequestList withdrawn;
  budget.withdraw([&](const Request& request) { return request.owner == &owners[1]; }, 1, withdrawn, admitted);
  EXPECT_EQ(count(withdrawn), 2U);
  EXPECT_FALSE(budget.held_elsewhere(&owners[1]));
  RequestList next;
  budget.leave(requests[0], {}, 2, next);
  EXPECT_EQ(next.first, &requests[2]);
}

TEST(Budget, ProgramsThatLabelEveryTaskAreBounded) {
  Budget budget("device");
  for (int i = 0; i < 5000; ++i) {
    budget.type({"task " + std::to_string(i), 1, Direction::write}, 100, 64);
  }
  budget.inspect([](const Budget& known) { EXPECT_LT(known.types().size(), 300U); });
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

TEST(Configuration, ReadsDevices) {
  const Folder folder;
  fs::create_directories(folder.path / "real");
  fs::create_symlink(folder.path / "real", folder.path / "link");
  const std::string file =
      folder.write("dovetail.toml",
                   "[other]\nx = 1\n[[device]]\nname = \"scratch\"\npaths = [\"link\", \"/data\"]\n"
                   "read = 450\nwrite = 400.5\nshared = true\nmost_at_once = 8\n[[device]]\nname = \"local\"\n");
  const auto devices = storage_devices(file);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].name, "scratch");
  EXPECT_EQ(devices[0].paths, (std::vector<std::string>{fs::canonical(folder.path / "real").string(), "/data"}));
  EXPECT_EQ(devices[0].read_mb_per_second, 450);
  EXPECT_EQ(devices[0].write_mb_per_second, 400.5);
  EXPECT_TRUE(devices[0].shared);
  EXPECT_FALSE(devices[1].shared);
  EXPECT_EQ(devices[0].most_at_once, 8U);
  EXPECT_EQ(devices[1].most_at_once, 0U);
  EXPECT_EQ(storage_device("", file, false).name, "scratch") << "the first";
  EXPECT_EQ(storage_device("local", file, false).name, "local");
  EXPECT_EQ(storage_device((folder.path / "link" / "new" / "file").string(), file, false).name, "scratch");
  EXPECT_FALSE(storage_device(folder.path.string(), file, false).configured);
  const fs::path before = fs::current_path();
  fs::current_path(folder.path / "real");
  EXPECT_EQ(storage_device("new/file", file, false).name, "scratch") << "a relative name of what does not exist yet";
  fs::current_path(before);
  const std::string why = refusal([&] { storage_device("nowhere", file, false); });
  EXPECT_NE(why.find("there is no storage device 'nowhere': dovetail.toml names scratch, local"), std::string::npos)
      << why;
}

TEST(Configuration, SaysWhichLineIsWrong) {
  const Folder folder;
  const std::pair<const char*, const char*> cases[] = {
      {"[[device]]\nname = \"a\"\nread = -1\n", ":3: 'read' must be a number of MB/s greater than 0"},
      {"[[device]]\nname = \"a\"\nread = \"fast\"\n", ":3: 'read' must be a number"},
      {"[[device]]\nname = \"a\"\nspeed = 4\n", ":3: a device has no 'speed'"},
      {"[[device]]\nread = 4\n", ":1: a device needs a 'name'"},
      {"[device]\nname = \"a\"\n", ": 'device' must be a list of tables"},
      {"[[device]]\nname = \"a/b\"\n", "contains a '/'"},
      {"[[device]]\nname = \"a\"\npaths = \"/x\"\n", ":3: 'paths' must be a list"},
      {"[[device]]\nname = \"a\"\npaths = [1]\n", "'paths' must be a text"},
      {"[[device]]\nname = \"a\"\nshared = 1\n", ":3: 'shared' must be true"},
      {"[[device]]\nname = \"a\"\nmost_at_once = 0\n", ":3: 'most_at_once' must be a number of tasks, at least 1"},
      {"[[device]]\nname = \"a\"\nmost_at_once = 2.5\n", ":3: 'most_at_once' must be a number of tasks"},
      {"[[device]]\nname = \"a\"\n[[device]]\nname = \"a\"\n", "two devices are called 'a'"},
      {"[[device]]\nname = \"a\"\npaths = [\"/x\", \"/x/\"]\n", "'/x' is given twice"},
      {"[[device]\nname", "dovetail.toml:1: "},
  };
  for (const auto& [text, message] : cases) {
    const std::string file = folder.write("dovetail.toml", text);
    const std::string why = refusal([&] { read_configuration(file); });
    EXPECT_NE(why.find(message), std::string::npos) << text << "\n" << why;
    EXPECT_NE(why.find(file), std::string::npos) << why;
  }
  EXPECT_NE(refusal([&] { storage_devices((folder.path / "none.toml").string()); }).find("does not exist"),
            std::string::npos);
}

TEST(Configuration, IsFoundByEnvironmentThenHereThenInTheUsersFolder) {
  const Folder folder;
  const fs::path before = fs::current_path();
  const std::string user = folder.write("config/dovetail/dovetail.toml", "");
  setenv("XDG_CONFIG_HOME", (folder.path / "config").c_str(), 1);
  unsetenv("DOVETAIL_CONFIG");
  fs::current_path(folder.path);
  EXPECT_EQ(configuration_file(""), fs::canonical(user));
  const std::string here = folder.write("dovetail.toml", "");
  EXPECT_EQ(configuration_file(""), fs::canonical(here));
  const std::string named = folder.write("other.toml", "");
  setenv("DOVETAIL_CONFIG", named.c_str(), 1);
  EXPECT_EQ(configuration_file(""), fs::canonical(named));
  EXPECT_EQ(configuration_file(here), fs::canonical(here)) << "what a program says goes before";
  unsetenv("DOVETAIL_CONFIG");
  unsetenv("XDG_CONFIG_HOME");
  fs::current_path(before);
}

class Memory : public testing::Test {
 protected:
  Memory() { setenv("XDG_STATE_HOME", folder_.path.c_str(), 1); }
  ~Memory() override { unsetenv("XDG_STATE_HOME"); }
  Folder folder_;
};

TEST_F(Memory, RemembersLevelsAndBandwidths) {
  EXPECT_FALSE(recall_level("a"));
  EXPECT_TRUE(remember_level("a", {3, 250.5}));
  EXPECT_TRUE(remember_bandwidth("a", "write", 400));
  EXPECT_TRUE(remember_level("b", {7, 0}));
  ASSERT_TRUE(recall_level("a"));
  EXPECT_EQ(recall_level("a")->at_once, 3U);
  EXPECT_EQ(recall_level("a")->rate, 250.5);
  EXPECT_EQ(recall_level("b")->rate, 0);
  EXPECT_EQ(recall_bandwidth("a", "write"), 400);
  EXPECT_EQ(recall_bandwidth("a", "read"), 0);
}

TEST_F(Memory, ADamagedOrForeignFileIsIgnoredWithOneWarning) {
  testing::internal::CaptureStderr();
  for (const char* text : {"{", "[]", "{\"version\": 2, \"devices\": {}}", "{\"version\": 1}", "", "\xff\xfe",
                           "{\"version\": 1, \"devices\": {\"a\": 4}}",
                           "{\"version\": 1, \"devices\": {\"a\": {\"at_once\": -3, \"mb_per_second\": \"x\"}}}",
                           "{\"version\": 1, \"devices\": {\"a\": {\"at_once\": 1e300}}}"}) {
    folder_.write("dovetail/admission.json", text);
    EXPECT_FALSE(recall_level("a")) << text;
    EXPECT_TRUE(remember_level("b", {2, 1})) << text;
    EXPECT_TRUE(recall_level("b")) << text;
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("what earlier runs learned is ignored"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST_F(Memory, RunsAtTheSameTimeLoseNothing) {
  constexpr int runs = 6;
  constexpr int rounds = 20;
  std::vector<pid_t> children;
  for (int run = 0; run < runs; ++run) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      for (int round = 1; round <= rounds; ++round) {
        // Whoever is refused the lock asks again; all get it in the end.
        while (!remember_level("device " + std::to_string(run), {static_cast<unsigned>(round), 1})) {
          sched_yield();
        }
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (int run = 0; run < runs; ++run) {
    const auto found = recall_level("device " + std::to_string(run));
    ASSERT_TRUE(found) << run;
    EXPECT_EQ(found->at_once, static_cast<unsigned>(rounds));
  }
}

TEST_F(Memory, AFolderThatCannotBeWrittenIsNoError) {
  setenv("XDG_STATE_HOME", "/proc/nowhere", 1);
  EXPECT_FALSE(remember_level("a", {3, 1}));
  EXPECT_FALSE(recall_level("a"));
}

}  // namespace
}  // namespace dovetail::admission::test
