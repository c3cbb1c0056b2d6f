// Constraints on ordinary tasks: admitted, then run on a worker, and paused on an engine, without a thread of their own.
#include <atomic>
#include <thread>

#include "admitted.hpp"
#include "tasking/core.hpp"
#include "tasking/executors.hpp"

namespace dovetail::admission::test {
namespace {

/// Ordinary tasks that are inside until they are let go. They hold no worker meanwhile.
class Gathering {
 public:
  void pause() {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(this_task::handle());
      changed_.notify_all();
    }
    this_task::suspend();
  }
  void wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.size() >= count; });
  }
  void let(std::size_t count) {
    for (; count > 0; --count) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !waiting_.empty(); });
      const TaskHandle next = waiting_.back();
      waiting_.pop_back();
      lock.unlock();
      next.resume();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<TaskHandle> waiting_;
};

class Ordinary : public Admission {
 protected:
  TaskDescription describe(const StorageBandwidth& constraint, const char* label = "write") const {
    return {.label = label, .storage_bw = constraint, .device = device_};
  }
};

TEST_F(Ordinary, AsManyAreInsideAtOnceAsTheBandwidthHoldsOnOneWorker) {
  Options one = options();
  one.workers = 1;
  Runtime runtime(one);
  Gathering inside;
  for (int i = 0; i < 10; ++i) {
    runtime.spawn(describe(25), [&] { inside.pause(); });
  }
  inside.wait_for(4);
  EXPECT_EQ(device().at("running"), 4) << "all of them paused, on one worker";
  EXPECT_EQ(device().at("waiting"), 6);
  EXPECT_EQ(runtime.core().executors->threads(), 0U);
  inside.let(10);
  runtime.wait();
  EXPECT_EQ(device().at("most_running"), 4);
  EXPECT_EQ(device().at("tasks"), 10);
}

TEST_F(Ordinary, AdaptiveAndAutoAdmitThemByTheSameRules) {
  for (const char* constraint : {"auto(25,100,2)", "adaptive"}) {
    Runtime runtime(options());
    Gathering inside;
    for (int i = 0; i < 12; ++i) {
      runtime.spawn(describe(constraint, constraint), [&] { inside.pause(); });
    }
    inside.wait_for(1);
    const int first = device().at("types").back().at("at_once");
    inside.wait_for(static_cast<std::size_t>(first));
    EXPECT_EQ(device().at("running"), first) << constraint;
    EXPECT_LT(first, 12) << constraint;
    inside.let(12);
    runtime.wait();
  }
}

TEST_F(Ordinary, TheyShareTheDeviceWithIoTasks) {
  Runtime runtime(options());
  Door door;
  runtime.spawn(Admission::describe(50), [&] { door.pass(); });
  door.wait_for(1);
  Gathering inside;
  for (int i = 0; i < 3; ++i) {
    runtime.spawn(describe(50), [&] { inside.pause(); });
  }
  inside.wait_for(1);
  EXPECT_EQ(device().at("running"), 2);
  EXPECT_EQ(device().at("waiting"), 2);
  door.let(1);
  inside.let(3);
  runtime.wait();
  EXPECT_EQ(device().at("most_running"), 2);
}

TEST_F(Ordinary, AllKindsOfConstraintRunAllTasksAndCountTheirBytes) {
  for (const char* engine : {"auto", "threads"}) {
    Options given = options();
    given.engine = engine;
    Runtime runtime(given);
    const File file = File::open((folder_ / "data" / "file").string(), O_RDWR | O_CREAT, {.direct = Direct::automatic});
    const std::vector<std::byte> data(200'000);
    std::atomic<int> ran{0};
    int spawned = 0;
    const auto before = device().is_null() ? 0.0 : device().at("bytes").get<double>();
    for (const char* constraint : {"none", "10", "auto", "auto(10,100,2)", "adaptive", "1000"}) {
      for (int i = 0; i < 40; ++i, ++spawned) {
        runtime.spawn(describe(constraint, i % 2 == 0 ? "plain" : "bound"), [&, i] {
          const auto offset = static_cast<std::uint64_t>(i) * data.size();
          if (i % 2 == 0) {
            file.pwrite(std::span(data), offset);
          } else {
            file.ipwrite(std::span(data), offset);
          }
          ++ran;
        });
      }
    }
    runtime.wait();
    EXPECT_EQ(ran, spawned);
    EXPECT_EQ(device().at("waiting"), 0);
    EXPECT_EQ(device().at("running"), 0);
    EXPECT_EQ(device().at("bytes").get<double>() - before, spawned * 200'000.0)
        << "all that moved, by the ring or not, by calls that return at once, too: " << engine;
  }
}

// What a body on an executor writes by itself only the kernel sees; what it writes through a file of ours is not counted twice.
TEST_F(Ordinary, WhatIoTasksMoveIsCountedOnce) {
  Runtime runtime(options());
  const std::string path = (folder_ / "data" / "counted").string();
  const File file = File::open(path, O_RDWR | O_CREAT);
  const std::vector<std::byte> data(1'000'000);
  runtime.spawn(Admission::describe("adaptive"), [&] {
    file.pwrite(std::span(data), 0);
    file.ipwrite(std::span(data), data.size());
    std::ofstream(path + " too").write(reinterpret_cast<const char*>(data.data()), 1'000'000);
  });
  runtime.wait();
  EXPECT_NEAR(device().at("bytes").get<double>(), 3e6, 1e5);
}

TEST_F(Ordinary, WhatAChildInTheShareOfItsParentMovesIsTheParents) {
  Runtime runtime(options());
  const File file = File::open((folder_ / "data" / "file").string(), O_RDWR | O_CREAT);
  const std::vector<std::byte> data(100'000);
  runtime.spawn(describe(100, "parent"), [&] {
    for (int i = 0; i < 3; ++i) {
      spawn(describe(100, "child"),
            [&, i] { file.pwrite(std::span(data), static_cast<std::uint64_t>(i) * data.size()); });
    }
    wait();
  });
  runtime.wait();
  EXPECT_EQ(device().at("bytes").get<double>(), 300'000);
  EXPECT_EQ(device().at("tasks"), 1);
}

TEST_F(Ordinary, OneThatWaitsForAdmissionCanBeCancelled) {
  Runtime runtime(options());
  Gathering inside;
  runtime.spawn(describe(100), [&] { inside.pause(); });
  inside.wait_for(1);
  bool ran = false;
  auto waiting = runtime.spawn(describe(100), [&] { ran = true; });
  auto behind = runtime.spawn(describe(100), [] {});
  auto after = runtime.spawn({.label = "after"}, [&] {
    try {
      waiting.get();
    } catch (const TaskFailed& failure) {
      return failure.cancelled();
    }
    return false;
  });
  waiting.cancel();
  EXPECT_TRUE(after.get());
  EXPECT_FALSE(ran);
  EXPECT_EQ(device().at("waiting"), 1);
  inside.let(1);
  behind.get();
  runtime.wait();
}

TEST_F(Ordinary, ARuntimeThatIsCancelledLeavesNothingBehind) {
  Runtime runtime(options());
  Gathering inside;
  runtime.spawn(describe(100), [&] { inside.pause(); });
  inside.wait_for(1);
  for (int i = 0; i < 50; ++i) {
    runtime.spawn(describe(100), [] { ADD_FAILURE() << "it ran"; });
  }
  runtime.cancel();
  inside.let(1);
  runtime.wait();
  EXPECT_EQ(device().at("waiting"), 0);
  EXPECT_EQ(device().at("running"), 0);
}

TEST_F(Ordinary, WhatNeedsAFailedOneThatWaitedIsCancelledAndItsShareIsFree) {
  for (const char* constraint : {"100", "auto", "adaptive"}) {
    Runtime runtime(options());
    int data = 0;
    Gathering inside;
    runtime.spawn(describe("100", "holder"), [&] { inside.pause(); });
    inside.wait_for(1);
    TaskDescription fails = describe(constraint, "fails");
    fails.access = {out(data)};
    auto failing = runtime.spawn(fails, [] { throw std::runtime_error("no"); });
    TaskDescription needs = describe(constraint, "needs");
    needs.access = {in(data)};
    auto needing = runtime.spawn(needs, [] { ADD_FAILURE() << "it ran"; });
    inside.let(1);
    EXPECT_THROW(failing.get(), TaskFailed);
    EXPECT_THROW(needing.get(), TaskFailed);
    runtime.spawn(describe(constraint, "behind"), [] {}).get();
    EXPECT_EQ(device().at("running"), 0) << constraint;
    EXPECT_EQ(device().at("waiting"), 0) << constraint;
  }
}

TEST_F(Ordinary, ThatIsRetriedKeepsItsShare) {
  Runtime runtime(options());
  std::atomic<int> attempts{0};
  TaskDescription description = describe(100);
  description.on_failure = retry(3);
  auto retried = runtime.spawn(description, [&] {
    this_task::yield();
    if (++attempts < 3) {
      throw std::runtime_error("not yet");
    }
  });
  auto other = runtime.spawn(describe(100), [&] { EXPECT_EQ(attempts, 3); });
  retried.get();
  other.get();
}

TEST_F(Ordinary, WithoutConstraintIsCountedAndKeptWaitingByNothing) {
  Runtime runtime(options());
  Gathering inside;
  for (int i = 0; i < 30; ++i) {
    runtime.spawn(describe("none"), [&] { inside.pause(); });
  }
  inside.wait_for(30);
  EXPECT_EQ(device().at("running"), 30);
  inside.let(30);
  runtime.wait();
  EXPECT_EQ(device().at("running"), 0);
  EXPECT_EQ(device().at("tasks"), 30);
}

TEST_F(Ordinary, TheMostOfADeviceHoldsForThem) {
  std::ofstream(config_, std::ios::app) << "most_at_once = 2\n";
  Runtime runtime(options());
  Gathering inside;
  for (int i = 0; i < 6; ++i) {
    runtime.spawn(describe("none"), [&] { inside.pause(); });
  }
  inside.wait_for(2);
  EXPECT_EQ(device().at("waiting"), 4);
  inside.let(6);
  runtime.wait();
  EXPECT_EQ(device().at("most_running"), 2);
}

TEST_F(Ordinary, TheStuckReportNamesOneThatWaitsForAdmission) {
  Runtime runtime(options());
  runtime.spawn(describe(100, "outer"), [&] { runtime.spawn(describe(100, "inner"), [] {}).get(); });
  try {
    runtime.wait();
    ADD_FAILURE() << "not stuck";
  } catch (const Stuck& stuck) {
    EXPECT_NE(std::string(stuck.what()).find("task 'inner' waits for admission to device '" + device_ + "'"),
              std::string::npos)
        << stuck.what();
  }
}

// Cancelled, failing, of all kinds, from several threads: none is lost, and nothing is left inside.
TEST_F(Ordinary, ManyOfManyThreadsAllEnd) {
  const bool small = std::getenv("DOVETAIL_TEST_SCALE") != nullptr;
  const int tasks = small ? 200 : 1500;
  std::atomic<int> ended{0};
  Runtime runtime(options());
  std::vector<std::thread> programs;
  for (int program = 0; program < 3; ++program) {
    programs.emplace_back([&, program] {
      for (int i = 0; i < tasks; ++i) {
        const char* const constraints[] = {"adaptive", "auto", "30", "auto(25,100,2)"};
        TaskDescription description =
            i % 3 == 0 ? Admission::describe(constraints[i % 4], "io") : describe(constraints[i % 4]);
        auto future = runtime.spawn(description, [i] {
          this_task::yield();
          if (i % 11 == 0) {
            throw std::runtime_error("no");
          }
        });
        if ((i + program) % 7 == 0) {
          future.cancel();
        }
        if (i % 50 == 49 || i % 11 == 0 || (i + program) % 7 == 0) {
          try {
            future.get();
          } catch (const TaskFailed&) {
          }
        }
        ++ended;
      }
    });
  }
  for (std::thread& program : programs) {
    program.join();
  }
  runtime.wait();
  EXPECT_EQ(ended, 3 * tasks);
  EXPECT_EQ(device().at("waiting"), 0);
  EXPECT_EQ(device().at("running"), 0);
}

}  // namespace
}  // namespace dovetail::admission::test
