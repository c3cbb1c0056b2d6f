// Admission in a runtime.
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "admitted.hpp"
#include "base/last_resort.hpp"
#include "base/sanitizer.hpp"
#include "device/names.hpp"
#include "device/remembered.hpp"

namespace dovetail::admission::test {
namespace {

TEST_F(Admission, AsManyRunAtOnceAsTheBandwidthHolds) {
  Runtime runtime(options());
  Door door;
  for (int i = 0; i < 10; ++i) {
    runtime.spawn(describe(25), [&] { door.pass(); });
  }
  door.wait_for(4);
  EXPECT_EQ(device().at("running"), 4);
  EXPECT_EQ(device().at("waiting"), 6);
  door.let(10);
  runtime.wait();
  EXPECT_EQ(device().at("most_running"), 4);
  EXPECT_EQ(device().at("tasks"), 10);
  EXPECT_EQ(device().at("running"), 0);
}

TEST_F(Admission, TheMostOfADeviceHoldsForTasksWithoutConstraint) {
  std::ofstream(config_, std::ios::app) << "most_at_once = 2\n";
  Runtime runtime(options());
  Door door;
  for (int i = 0; i < 6; ++i) {
    runtime.spawn(describe("none"), [&] { door.pass(); });
  }
  door.wait_for(2);
  EXPECT_EQ(device().at("running"), 2);
  EXPECT_EQ(device().at("waiting"), 4);
  EXPECT_EQ(device().at("most_at_once"), 2);
  door.let(6);
  runtime.wait();
  EXPECT_EQ(device().at("most_running"), 2);
}

TEST_F(Admission, AdaptiveBeginsWithWhatAnEarlierRunLearned) {
  std::ofstream(config_, std::ios::app) << "shared = true\n";
  ASSERT_TRUE(device::remember_level("device " + device_, {5, 0}));
  Runtime runtime(options());
  Door door;
  for (int i = 0; i < 8; ++i) {
    runtime.spawn(describe("adaptive"), [&] { door.pass(); });
  }
  door.wait_for(5);
  EXPECT_EQ(device().at("running"), 5);
  EXPECT_EQ(device().at("waiting"), 3);
  door.let(8);
  runtime.wait();
}

TEST_F(Admission, TasksThatReadShareTheReadBandwidth) {
  Runtime runtime(options());
  File file = File::open((folder_ / "data" / "file").string(), O_RDWR | O_CREAT);
  Door door;
  for (int i = 0; i < 10; ++i) {
    TaskDescription description = describe(50);
    description.access = {in(file, 0, 10)};
    runtime.spawn(description, [&] { door.pass(); });
  }
  door.wait_for(4);
  EXPECT_EQ(device().at("running"), 4) << "200 MB/s, not 100";
  door.let(10);
  runtime.wait();
}

TEST_F(Admission, TasksWithoutConstraintMeetNoGate) {
  Runtime runtime(options());
  Door door;
  for (int i = 0; i < 3; ++i) {
    runtime.spawn(describe(100), [&] { door.pass(); });
  }
  bool ran = false;
  runtime.spawn({.label = "free", .io = true}, [&] { ran = true; }).get();
  EXPECT_TRUE(ran);
  door.let(3);
  runtime.wait();
}

TEST_F(Admission, BadInputIsRefusedWhereItIsSaid) {
  Runtime runtime(options());
  const auto refusal = [&](const TaskDescription& description) -> std::string {
    try {
      runtime.spawn(description, [] { ADD_FAILURE() << "it ran"; });
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "not refused";
  };
  EXPECT_NE(refusal({.label = "x", .io = true, .storage_bw = 20, .device = "nowhere"})
                .find("there is no storage device 'nowhere'"),
            std::string::npos);
  Options broken = options();
  broken.config = (folder_ / "missing.toml").string();
  Runtime other(broken);
  EXPECT_THROW(other.spawn(describe(20), [] {}), std::invalid_argument);
  runtime.wait();
  other.wait();
}

/// Tasks of high priority that never end to come: each spawns the next. Three are there at any time, so that one always waits.
class Flood {
 public:
  Flood(Runtime& runtime, const TaskDescription& description) : runtime_(runtime), description_(description) {
    description_.priority = 1;
    for (int i = 0; i < 3; ++i) {
      next();
    }
  }
  void stop() { over_ = true; }
  /// How many have begun.
  int begun() const { return begun_; }

 private:
  void next() {
    runtime_.spawn(description_, [this] {
      ++begun_;
      if (!over_) {
        next();
      }
    });
  }
  Runtime& runtime_;
  TaskDescription description_;
  std::atomic<int> begun_{0};
  std::atomic<bool> over_{false};
};

// Behind it a task of low priority has its turn after fifteen others. If it had not, this test would not end.
TEST_F(Admission, ATaskOfLowPriorityGetsThroughAFloodOfUrgentOnes) {
  std::ofstream(config_, std::ios::app) << "most_at_once = 1\n";
  const auto ordinary = [](TaskDescription description) {
    description.io = false;
    return description;
  };
  for (const TaskDescription& urgent :
       {describe(100, "urgent"), ordinary(describe(100, "urgent")), describe("none", "urgent")}) {
    for (const TaskDescription& low :
         {describe(100), ordinary(describe(100)), describe("none"), ordinary(describe("none"))}) {
      Runtime runtime(options());
      Flood flood(runtime, urgent);
      Future<int> begun_then = runtime.spawn(low, [&] { return flood.begun(); });
      const int begun_now = flood.begun();
      EXPECT_LE(begun_then.get() - begun_now, 16);
      flood.stop();
      runtime.wait();
    }
  }
  EXPECT_EQ(device().at("most_running"), 1);
}

// No device limits these. Executors have one place.
TEST_F(Admission, AnOpenTaskOfLowPriorityGetsThroughAFloodOfUrgentOnes) {
  Runtime runtime(options(1));
  Flood flood(runtime, {.label = "urgent", .io = true});
  Future<int> begun_then = runtime.spawn({.label = "low", .io = true}, [&] { return flood.begun(); });
  const int begun_now = flood.begun();
  EXPECT_LE(begun_then.get() - begun_now, 16);
  flood.stop();
  runtime.wait();
}

TEST_F(Admission, ADeviceThatIsNotConfiguredIsMeasured) {
  Runtime runtime(options());
  TaskDescription description = describe(1);
  const std::string path = folder_.string();  // beside the configured folder
  description.device = path;
  runtime.spawn(description, [] {}).get();
  const StorageDevice found = storage_device(path, config_, false);
  EXPECT_FALSE(found.configured);
  EXPECT_GT(found.write_mb_per_second, 0);
  EXPECT_TRUE(fs::exists(folder_ / "state" / "dovetail" / "admission.json")) << "it is measured once";
}

TEST_F(Admission, AConstraintAboveTheDeviceRunsAloneAndIsPointedOutOnce) {
  testing::internal::CaptureStderr();
  {
    Runtime runtime(options());
    for (int i = 0; i < 5; ++i) {
      runtime.spawn(describe(500), [] {});
    }
    runtime.wait();
  }
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("task type 'write' asks for 500 MB/s of device"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_EQ(device().at("most_running"), 1);
}

TEST_F(Admission, AllKindsOfConstraintRunAllTasks) {
  Runtime runtime(options());
  std::atomic<int> ran{0};
  int spawned = 0;
  for (const char* constraint : {"none", "10", "auto", "auto(10,100,2)", "adaptive", "1000"}) {
    for (int i = 0; i < 100; ++i, ++spawned) {
      runtime.spawn(describe(constraint, i % 2 == 0 ? "even" : "odd"), [&] { ++ran; });
    }
  }
  runtime.wait();
  EXPECT_EQ(ran, spawned);
  EXPECT_EQ(device().at("waiting"), 0);
  EXPECT_EQ(device().at("types").size(), 12U);
}

TEST_F(Admission, ATaskThatWaitsForAdmissionCanBeCancelled) {
  Runtime runtime(options());
  Door door;
  runtime.spawn(describe(100), [&] { door.pass(); });
  door.wait_for(1);
  bool ran = false;
  auto waiting = runtime.spawn(describe(100), [&] { ran = true; });
  auto behind = runtime.spawn(describe(100), [] {});
  waiting.cancel();
  try {
    waiting.get();  // while the device is still taken
    ADD_FAILURE() << "it was not cancelled";
  } catch (const TaskFailed& failure) {
    EXPECT_TRUE(failure.cancelled());
  }
  EXPECT_FALSE(ran);
  EXPECT_EQ(device().at("waiting"), 1);
  door.let(1);
  behind.get();
}

TEST_F(Admission, ARuntimeThatIsCancelledLeavesNothingBehind) {
  Runtime runtime(options());
  Door door;
  runtime.spawn(describe(100), [&] { door.pass(); });
  door.wait_for(1);
  for (int i = 0; i < 50; ++i) {
    runtime.spawn(describe(100), [] { ADD_FAILURE() << "it ran"; });
  }
  runtime.cancel();
  door.let(1);
  runtime.wait();
  EXPECT_EQ(device().at("waiting"), 0);
  EXPECT_EQ(device().at("running"), 0);
}

TEST_F(Admission, ARuntimeEndsWithItsWaitingTasksDone) {
  std::atomic<int> ran{0};
  {
    Runtime runtime(options());
    for (int i = 0; i < 20; ++i) {
      runtime.spawn(describe(100), [&] { ++ran; });
    }
  }
  EXPECT_EQ(ran, 20);
}

TEST_F(Admission, RuntimesShareADevice) {
  Runtime one(options());
  Runtime two(options());
  Door door;
  for (int i = 0; i < 6; ++i) {
    (i % 2 == 0 ? one : two).spawn(describe(50), [&] { door.pass(); });
  }
  door.wait_for(2);
  EXPECT_EQ(device().at("running"), 2);
  EXPECT_EQ(device().at("waiting"), 4);
  door.let(6);
  one.wait();
  two.wait();
  EXPECT_EQ(device().at("most_running"), 2);
}

TEST_F(Admission, WhatAnotherRuntimeHoldsIsNotStuck) {
  Options never = options();
  Runtime one(never);
  Runtime two(never);
  Door door;
  one.spawn(describe(100), [&] { door.pass(); });
  door.wait_for(1);
  auto waits = two.spawn(describe(100), [] {});
  std::thread waiting([&] { EXPECT_NO_THROW(waits.get()); });
  // Long enough for the runtime to look whether it is stuck: it looks after 50 ms, and this is the work of another runtime.
  for (int i = 0; i < 20; ++i) {
    one.spawn([] { this_task::wait_for(std::chrono::milliseconds(10)); }).get();
  }
  door.let(1);
  waiting.join();
}

TEST_F(Admission, TheStuckReportNamesWhoWaitsForAdmission) {
  Runtime runtime(options());
  const auto holder = [&] {
    auto inner = runtime.spawn(describe(100, "inner"), [] {});
    inner.get();
  };
  runtime.spawn(describe(100, "outer"), holder);
  try {
    runtime.wait();
    ADD_FAILURE() << "not stuck";
  } catch (const Stuck& stuck) {
    EXPECT_NE(std::string(stuck.what()).find("task 'inner' waits for admission to device '" + device_ + "'"),
              std::string::npos)
        << stuck.what();
  }
}

TEST_F(Admission, AChildRunsInTheShareOfItsParent) {
  Runtime runtime(options());
  std::atomic<int> ran{0};
  runtime
      .spawn(describe(100, "parent"),
             [&] {
               for (int i = 0; i < 3; ++i) {
                 spawn(describe(100, "child"), [&] { ++ran; });
               }
               wait();
             })
      .get();
  EXPECT_EQ(ran, 3);
}

TEST_F(Admission, ATaskThatIsRetriedKeepsItsShare) {
  Runtime runtime(options());
  std::atomic<int> attempts{0};
  TaskDescription description = describe(100);
  description.on_failure = retry(3);
  auto retried = runtime.spawn(description, [&] {
    if (++attempts < 3) {
      throw std::runtime_error("not yet");
    }
  });
  auto other = runtime.spawn(describe(100), [&] { EXPECT_EQ(attempts, 3); });
  retried.get();
  other.get();
}

TEST_F(Admission, FailuresWhileATypeIsLearnedReachWhoAsks) {
  for (const char* constraint : {"auto", "auto(25,100,2)", "adaptive"}) {
    Runtime runtime(options(4));
    std::vector<Future<void>> futures;
    for (int i = 0; i < 60; ++i) {
      futures.push_back(runtime.spawn(describe(constraint), [i] {
        if (i % 3 != 0) {
          throw std::runtime_error("no");
        }
      }));
    }
    int failed = 0;
    for (auto& future : futures) {
      try {
        future.get();
      } catch (const TaskFailed&) {
        ++failed;
      }
    }
    EXPECT_EQ(failed, 40);
  }
}

TEST_F(Admission, ATaskIsOnItsDeviceUntilItsEventsAreFulfilled) {
  Runtime runtime(options());
  std::atomic<Events*> events{nullptr};
  runtime.spawn(describe(100), [&] {
    this_task::events().add(1);
    events = &this_task::events();
  });
  bool second = false;
  auto behind = runtime.spawn(describe(100), [&] { second = true; });
  while (events == nullptr) {
    std::this_thread::yield();
  }
  EXPECT_EQ(device().at("waiting"), 1);
  events.load()->fulfill(1);
  behind.get();
  EXPECT_TRUE(second);
}

TEST_F(Admission, AdaptiveBeginsWhereTheDeviceWasMeasured) {
  device::Device& disk = device::Names::of(config_).find(device_).device();
  disk.set_curve(device::Direction::write, {{1, 50}, {2, 100}, {3, 150}, {6, 300}, {8, 310}, {12, 200}});
  Runtime runtime(options());
  Door door;
  for (int i = 0; i < 10; ++i) {
    runtime.spawn(describe("adaptive"), [&] { door.pass(); });
  }
  door.wait_for(6);
  EXPECT_EQ(device().at("running"), 6);
  EXPECT_EQ(device().at("waiting"), 4);
  EXPECT_EQ(disk.tasks_at_once(), 6U) << "the device knows what its tasks are doing";
  door.let(10);
  runtime.wait();
  EXPECT_EQ(disk.tasks_at_once(), 0U);
}

TEST_F(Admission, WhatAdaptiveGivesToATaskIsAShareOfTheBandwidth) {
  Runtime runtime(options());
  runtime.spawn(describe("adaptive"), [] {});
  runtime.wait();
  const json type = device().at("types").at(0);
  EXPECT_DOUBLE_EQ(type.at("current_mb_per_second").get<double>() * type.at("at_once").get<double>(), 100);
}

TEST_F(Admission, WhatThreadsTransferIsCounted) {
  Runtime runtime(options());
  const std::string path = (folder_ / "data" / "counted").string();
  for (int i = 0; i < 3; ++i) {
    runtime.spawn(describe("adaptive"), [&] { std::ofstream(path) << std::string(1'000'000, 'x'); });
    runtime.wait();
  }
  const auto bytes = device().at("bytes").get<double>();
  EXPECT_NEAR(bytes, 3e6, 1e5);
}

TEST_F(Admission, TheChildOfAForkHasBudgetsOfItsOwn) {
#if DOVETAIL_THREAD_SANITIZER || DOVETAIL_ADDRESS_SANITIZER
  GTEST_SKIP() << "the sanitizers do not allow threads in the child of a fork, whose memory may be locked by a thread "
                  "that is not there";
#endif
  Runtime runtime(options());
  Door door;
  runtime.spawn(describe(100), [&] { door.pass(); });
  door.wait_for(1);
  const pid_t child = fork();
  if (child == 0) {
    alarm(dovetail::test::last_resort_seconds);
    bool ran = false;
    {
      Runtime own(options());
      own.spawn(describe(100), [&] { ran = true; }).get();
    }
    _exit(ran ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  door.let(1);
  runtime.wait();
}

TEST_F(Admission, ManyTasksOfManyRuntimesAllRun) {
  std::atomic<int> ran{0};
  const bool small = std::getenv("DOVETAIL_TEST_SCALE") != nullptr;
  const int tasks = small ? 300 : 2000;
  std::vector<std::thread> programs;
  for (int program = 0; program < 3; ++program) {
    programs.emplace_back([&] {
      Runtime runtime(options(8));
      for (int i = 0; i < tasks; ++i) {
        const char* const constraints[] = {"adaptive", "auto", "30", "auto(25,100,2)"};
        auto future = runtime.spawn(describe(constraints[i % 4], i % 8 < 4 ? "a" : "b"), [&] { ++ran; });
        if (i % 50 == 49) {
          future.cancel();
          ran += 1;  // put right below, if it ran all the same
          try {
            future.get();
            ran -= 1;
          } catch (const TaskFailed&) {
          }
        }
      }
      runtime.wait();
    });
  }
  for (std::thread& program : programs) {
    program.join();
  }
  EXPECT_EQ(ran, 3 * tasks);
  EXPECT_EQ(device().at("waiting"), 0);
  EXPECT_EQ(device().at("running"), 0);
}

}  // namespace
}  // namespace dovetail::admission::test
