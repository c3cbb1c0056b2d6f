// Waiting for a time to pass: the core is free meanwhile, and the time returned is the time that passed.
#include "support.hpp"

namespace dovetail::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(WaitForTest, NeverShorterThanAsked) {
  Runtime runtime(Options{.workers = 2});
  for (int i = 0; i < 200; ++i) {
    runtime.spawn([i] {
      const microseconds asked(i * 10);
      const auto begin = std::chrono::steady_clock::now();
      const nanoseconds slept = this_task::wait_for(asked);
      const auto passed = std::chrono::steady_clock::now() - begin;
      EXPECT_GE(slept, asked);
      EXPECT_LE(slept, passed);
    });
  }
  runtime.wait();
}

TEST(WaitForTest, NothingAndLess) {
  Runtime runtime(Options{.workers = 1});
  runtime
      .spawn([] {
        EXPECT_GE(this_task::wait_for(nanoseconds(0)).count(), 0);
        EXPECT_GE(this_task::wait_for(nanoseconds(-5)).count(), 0);
      })
      .get();
  EXPECT_THROW(this_task::wait_for(nanoseconds(1)), std::logic_error);
}

TEST(WaitForTest, NothingLetsOthersRun) {
  Runtime runtime(Options{.workers = 1});
  std::atomic<bool> has_run{false};
  runtime.spawn([&] {
    spawn([&] { has_run.store(true); });
    while (!has_run.load()) {
      this_task::wait_for(nanoseconds(0));
    }
  });
  runtime.wait();
}

TEST(WaitForTest, TheCoreIsFreeMeanwhile) {
  // On one worker: all of them sleep at once, or this would take a minute.
  Runtime runtime(Options{.workers = 1, .stack_size = 16 * 1024});
  const int count = static_cast<int>(scaled(1'000, 200));
  std::atomic<int> asleep{0};
  std::atomic<int> most{0};
  for (int i = 0; i < count; ++i) {
    runtime.spawn([&] {
      const int now = asleep.fetch_add(1) + 1;
      most.store(std::max(most.load(), now));
      this_task::wait_for(milliseconds(60));
      asleep.fetch_sub(1);
    });
  }
  runtime.wait();
  EXPECT_GT(most.load(), 1);
}

// In which order they end is a matter of how busy the machine is, so that only this can be asked for.
TEST(WaitForTest, SeveralOnOneWorkerAllEndAndNoneEarly) {
  Runtime runtime(Options{.workers = 1});
  std::vector<int> order;
  std::atomic<int> begun{0};
  for (int i = 5; i >= 1; --i) {
    runtime.spawn([&, i] {
      begun.fetch_add(1);
      await_in_task([&] { return begun.load() == 5; });
      EXPECT_GE(this_task::wait_for(milliseconds(i * 30)), milliseconds(i * 30));
      order.push_back(i);
    });
  }
  runtime.wait();
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4, 5}));
}

TEST(WaitForTest, ALongOneDoesNotKeepOthers) {
  Runtime runtime(Options{.workers = 1});
  TaskHandle handle;
  std::atomic<bool> over{false};
  auto sleeper = runtime.spawn([&] {
    while (!over.load()) {
      this_task::wait_for(milliseconds(1));
    }
  });
  for (int i = 0; i < 100; ++i) {
    runtime.spawn([] {}).get();
  }
  over.store(true);
  sleeper.get();
}

TEST(WaitForTest, AbsurdlyLongIsNotOverAtOnce) {
  const auto outcome = run_in_child([] {
    Runtime runtime(Options{.workers = 1});
    std::atomic<bool> woke{false};
    std::atomic<bool> begun{false};
    runtime.spawn([&] {
      begun.store(true);
      this_task::wait_for(std::chrono::nanoseconds::max());
      woke.store(true);
    });
    await([&] { return begun.load(); });
    for (int i = 0; i < 1'000; ++i) {
      runtime.spawn([] {}).get();
    }
    _exit(woke.load() ? 1 : 42);
    return 0;
  });
  EXPECT_EQ(outcome.status, 42) << outcome.error;
}

TEST(WaitForTest, InAnIoTask) {
  Runtime runtime(Options{.workers = 1});
  auto future = runtime.spawn({.io = true}, [] { return this_task::wait_for(milliseconds(2)); });
  EXPECT_GE(future.get(), milliseconds(2));
}

TEST(WaitForTest, ASleepingTaskIsNotStuck) {
  Runtime runtime(Options{.workers = 1, .stuck_after = milliseconds(1)});
  int steps = 0;
  runtime.spawn([&] {
    for (int i = 0; i < 3; ++i) {
      this_task::wait_for(milliseconds(120));
      ++steps;
    }
  });
  runtime.wait();
  EXPECT_EQ(steps, 3);
}

}  // namespace
}  // namespace dovetail::test
