// A graph that can never end is an error that says why, and a slow one is not.
#include "support.hpp"
#include "tasking/core.hpp"

namespace dovetail::test {
namespace {

using std::chrono::milliseconds;

TEST(StuckTest, ACycleThroughSuspend) {
  Runtime runtime(Options{.workers = 2, .stuck_after = milliseconds(100)});
  auto future = runtime.spawn({.label = "the sleeper"}, [] { this_task::suspend(); });
  try {
    runtime.wait();
    FAIL() << "it cannot end";
  } catch (const Stuck& stuck) {
    EXPECT_NE(std::string(stuck.what()).find("the sleeper"), std::string::npos) << stuck.what();
  }
  // The task has been told too, and ended by that.
  const auto failed = failure_of([&] { future.get(); });
  ASSERT_TRUE(failed);
  EXPECT_THROW(std::rethrow_if_nested(*failed), Stuck);
  EXPECT_EQ(runtime.spawn([] { return 6; }).get(), 6) << "the runtime goes on";
  runtime.wait();
}

TEST(StuckTest, WhatFailedBeforeIsStillThere) {
  Runtime runtime(Options{.workers = 2, .stuck_after = milliseconds(100)});
  runtime.spawn({.label = "the thrower"}, [] { throw std::runtime_error("before"); });
  runtime.spawn({.label = "the sleeper"}, [] { this_task::suspend(); });
  EXPECT_THROW(runtime.wait(), Stuck);
  const auto failed = failure_of([&] { runtime.wait(); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->label(), "the thrower");
  runtime.wait();
}

TEST(StuckTest, ACycleThroughGet) {
  Runtime runtime(Options{.workers = 2});
  Future<void> futures[2];
  Gate gate;
  for (int i = 0; i < 2; ++i) {
    futures[i] = runtime.spawn({.label = i == 0 ? "left" : "right"}, [&, i] {
      gate.pass();
      futures[1 - i].wait();
    });
  }
  gate.open();
  try {
    runtime.wait();
    FAIL() << "it cannot end";
  } catch (const Stuck& stuck) {
    EXPECT_NE(std::string(stuck.what()).find("left"), std::string::npos) << stuck.what();
    EXPECT_NE(std::string(stuck.what()).find("right"), std::string::npos) << stuck.what();
  }
  futures[0].wait();
  futures[1].wait();
}

TEST(StuckTest, ALongCycleThroughGet) {
  // A task that is told ends the wait of the next, which could then go on and be gone. Yet all are told, each in its turn.
  const std::size_t length = scaled(8'000, 4'000);
  Runtime runtime(Options{.workers = 4});
  std::vector<Future<void>> futures(length);
  std::atomic<std::size_t> told{0};
  Gate gate;
  for (std::size_t i = 0; i < length; ++i) {
    // Queued where every worker looks first, so that some run while others are still being told.
    futures[i] = runtime.spawn({.priority = 1}, [&, i] {
      gate.pass();
      try {
        futures[(i + 1) % length].get();
      } catch (const Stuck&) {
        told.fetch_add(1);
      }
    });
  }
  gate.open();
  EXPECT_THROW(runtime.wait(), Stuck);
  for (const Future<void>& future : futures) {
    future.wait();
  }
  EXPECT_EQ(told.load(), length);
}

TEST(StuckTest, GetFromOutsideIsToldToo) {
  // It is chance whether the waiting thread or the task that it waits for is told first. `get` says `Stuck` in both cases, every
  // time.
  for (std::size_t turn = 0; turn < scaled(100, 20); ++turn) {
    Runtime runtime(Options{.workers = 2, .stuck_after = milliseconds(10)});
    auto future = runtime.spawn({.label = "asleep"}, [] { this_task::suspend(); });
    // All workers sleep already, perhaps, when the wait begins.
    for (std::size_t i = 0; i < turn; ++i) {
      std::this_thread::yield();
    }
    EXPECT_THROW(future.get(), Stuck) << turn;
  }
}

TEST(StuckTest, ATaskThatWaitsForASuspendedOne) {
  Runtime runtime(Options{.workers = 1, .stuck_after = milliseconds(100)});
  int data = 0;
  auto waiter = runtime.spawn({.label = "waiter"}, [&] {
    auto sleeper = spawn({.label = "sleeper", .access = {out(data)}}, [] { this_task::suspend(); });
    spawn({.label = "behind it", .access = {in(data)}}, [] {});
    sleeper.wait();
  });
  try {
    runtime.wait();
    FAIL() << "it cannot end";
  } catch (const Stuck& stuck) {
    EXPECT_NE(std::string(stuck.what()).find("sleeper"), std::string::npos) << stuck.what();
    EXPECT_NE(std::string(stuck.what()).find("behind it"), std::string::npos) << stuck.what();
  }
  waiter.wait();
}

TEST(StuckTest, SaysWhichTasksEachOneWaitsFor) {
  Runtime runtime(Options{.workers = 2, .stuck_after = milliseconds(10)});
  int data[3] = {};
  const char* labels[3] = {"first", "second", "third"};
  for (int i = 0; i < 3; ++i) {
    runtime.spawn({.label = labels[i], .access = {out(data[i])}}, [] { this_task::suspend(); });
  }
  runtime.spawn({.label = "behind two", .access = {in(data[0]), in(data[1])}}, [] {});
  runtime.spawn({.label = "behind one", .access = {in(data[2])}}, [] {});
  try {
    runtime.wait();
    FAIL() << "it cannot end";
  } catch (const Stuck& stuck) {
    const std::string text = std::string(stuck.what()) + "\n";
    EXPECT_TRUE(text.find("'behind two' waits for task 'first', 'second'\n") != std::string::npos ||
                text.find("'behind two' waits for task 'second', 'first'\n") != std::string::npos)
        << text;
    EXPECT_NE(text.find("'behind one' waits for task 'third'\n"), std::string::npos) << text;
  }
}

TEST(StuckTest, AForgottenEvent) {
  const auto outcome = run_in_child([] {
    bool reported = false;
    {
      Runtime runtime(Options{.workers = 2, .stuck_after = milliseconds(100)});
      int data = 0;
      runtime.spawn({.label = "forgetful", .access = {out(data)}}, [] { this_task::events().add(); });
      runtime.spawn({.label = "hopeful", .access = {in(data)}}, [] {});
      try {
        runtime.wait();
      } catch (const Stuck& stuck) {
        const std::string text = stuck.what();
        reported = text.find("forgetful") != std::string::npos && text.find("event") != std::string::npos &&
                   text.find("hopeful") != std::string::npos;
      }
    }  // ends, though the tasks never do
    return reported ? 42 : 1;
  });
  EXPECT_EQ(outcome.status, 42) << outcome.error;
  EXPECT_NE(outcome.error.find("forgetful"), std::string::npos) << outcome.error;
}

TEST(StuckTest, AnIoTaskThatSuspends) {
  Runtime runtime(Options{.workers = 1, .stuck_after = milliseconds(100)});
  runtime.spawn({.label = "on an executor", .io = true}, [] { this_task::suspend(); });
  EXPECT_THROW(runtime.wait(), Stuck);
}

TEST(StuckTest, AnIoTaskThatSuspendsWhileEveryWorkerSleeps) {
  for (int turn = 0; turn < 5; ++turn) {
    Runtime runtime(Options{.workers = 1, .report_after = milliseconds(0), .stuck_after = milliseconds(10)});
    runtime.spawn({.label = "on an executor", .io = true}, [&] {
      const auto& core = runtime.core();
      await([&] { return core.foreign.waiting.load() > 0 && core.idle.count() == core.workers.size(); });
      this_task::suspend();
    });
    EXPECT_THROW(runtime.wait(), Stuck) << turn;
  }
}

TEST(StuckTest, ACycleBelowATaskThatHasReturned) {
  // That one waits for its children: no event from outside can end the cycle, however patient the watch is with events.
  Runtime runtime(Options{.workers = 2, .stuck_after = milliseconds(0)});
  Future<void> futures[2];
  Gate gate;
  runtime.spawn({.label = "parent"}, [&] {
    for (int i = 0; i < 2; ++i) {
      futures[i] = spawn({}, [&, i] {
        gate.pass();
        futures[1 - i].wait();
      });
    }
    gate.open();
  });
  EXPECT_THROW(runtime.wait(), Stuck);
  futures[0].wait();
  futures[1].wait();
}

TEST(StuckTest, ALateResumeIsLegitimate) {
  // Longer than the first look of the watch, shorter than it waits before it ends them: driven by the clock, not checked against it.
  Runtime runtime(Options{.workers = 2});
  TaskHandle handle;
  std::atomic<bool> known{false};
  auto future = runtime.spawn([&] {
    handle = this_task::handle();
    known.store(true);
    this_task::suspend();
    return 8;
  });
  std::thread outside([&] {
    await([&] { return known.load(); });
    std::this_thread::sleep_for(milliseconds(300));
    handle.resume();
  });
  runtime.wait();
  EXPECT_EQ(future.get(), 8);
  outside.join();
}

TEST(StuckTest, WorkOnExecutorsIsNotQuiet) {
  // Compute workers have nothing to do for longer than the watch waits, but the runtime has.
  Runtime runtime(Options{.workers = 1, .stuck_after = milliseconds(2'000)});
  std::atomic<Events*> events{nullptr};
  runtime.spawn([&] {
    this_task::events().add();
    events.store(&this_task::events());
  });
  std::thread outside([&] {
    const auto until = std::chrono::steady_clock::now() + milliseconds(2'700);
    while (std::chrono::steady_clock::now() < until) {
      runtime.spawn({.io = true}, [] { std::this_thread::sleep_for(milliseconds(1)); }).wait();
      std::this_thread::sleep_for(milliseconds(50));
    }
    await([&] { return events.load() != nullptr; });
    events.load()->fulfill();
  });
  runtime.wait();
  outside.join();
}

TEST(StuckTest, ZeroMeansNever) {
  Runtime runtime(Options{.workers = 1, .stuck_after = milliseconds(0)});
  std::atomic<Events*> events{nullptr};
  runtime.spawn([&] {
    this_task::events().add();
    events.store(&this_task::events());
  });
  std::thread outside([&] {
    await([&] { return events.load() != nullptr; });
    std::this_thread::sleep_for(milliseconds(300));
    events.load()->fulfill();
  });
  runtime.wait();
  outside.join();
}

TEST(StuckTest, ReportsWhileAnotherRuntimeWorks) {
  // Its tasks, in the midst of everything, lie among those that are looked at.
  Runtime busy(Options{.workers = 2});
  std::atomic<bool> over{false};
  std::thread feeder([&] {
    long data[8] = {};
    while (!over.load()) {
      for (int i = 0; i < 100; ++i) {
        busy.spawn({.access = {inout(data[i % 8]), in(data[(i + 3) % 8])}}, [] {});
      }
      busy.wait();
    }
  });
  {
    Runtime stuck(Options{.workers = 2, .stuck_after = milliseconds(60)});
    for (int round = 0; round < 3; ++round) {
      int data = 0;
      stuck.spawn({.access = {out(data)}}, [] { this_task::suspend(); });
      for (int i = 0; i < 20; ++i) {
        stuck.spawn({.access = {in(data)}}, [] {});
      }
      EXPECT_THROW(stuck.wait(), Stuck);
    }
  }
  over.store(true);
  feeder.join();
}

}  // namespace
}  // namespace dovetail::test
