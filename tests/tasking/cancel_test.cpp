// Cancelling: what has not started does not run, what runs is asked to stop.
#include "support.hpp"

namespace dovetail::test {
namespace {

TEST(CancelTest, WhatHasNotStarted) {
  Runtime runtime(Options{.workers = 1});
  Gate gate;
  int data = 0;
  std::atomic<int> ran{0};
  runtime.spawn([&] { gate.pass(); });
  auto first = runtime.spawn({.label = "first", .access = {out(data)}}, [&] { ran.fetch_add(1); });
  auto second = runtime.spawn({.label = "second", .access = {in(data)}}, [&] { ran.fetch_add(1); });
  auto other = runtime.spawn([&] { return 5; });
  first.cancel();
  first.cancel();
  gate.open();
  auto failed = failure_of([&] { first.get(); });
  ASSERT_TRUE(failed);
  EXPECT_TRUE(failed->cancelled());
  EXPECT_EQ(failed->cause(), nullptr);
  EXPECT_EQ(failed->label(), "first");
  failed = failure_of([&] { second.get(); });
  ASSERT_TRUE(failed);
  EXPECT_TRUE(failed->cancelled());
  EXPECT_EQ(other.get(), 5);
  EXPECT_EQ(ran.load(), 0);
  runtime.wait();
}

TEST(CancelTest, NobodyNeedsToTakeACancellation) {
  const auto outcome = run_in_child([] {
    Runtime runtime(Options{.workers = 1});
    Gate gate;
    runtime.spawn([&] { gate.pass(); });
    runtime.spawn({.label = "unwanted"}, [] {}).cancel();
    gate.open();
    runtime.wait();
    return 0;
  });
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.error, "");
}

TEST(CancelTest, WhatRunsIsAsked) {
  Runtime runtime(Options{.workers = 2});
  std::atomic<bool> begun{false};
  auto future = runtime.spawn([&] {
    EXPECT_FALSE(this_task::cancelled());
    begun.store(true);
    await_in_task([] { return this_task::cancelled(); });
    return 9;
  });
  await([&] { return begun.load(); });
  future.cancel();
  EXPECT_EQ(future.get(), 9) << "it may still give a result";
}

// The body sleeps, and what hangs on its token wakes it.
TEST(CancelTest, AStopTokenTellsOfIt) {
  for (const bool all : {false, true}) {
    Runtime runtime(Options{.workers = 1});
    std::atomic<int> waiting{0};
    int stopped = 0;
    const auto sleep_until_stopped = [&] {
      const TaskHandle self = this_task::handle();
      const std::stop_token token = this_task::stop_token();
      EXPECT_EQ(token, this_task::stop_token());
      const std::stop_callback wake(token, [&] { self.resume(); });
      waiting.fetch_add(1);
      this_task::suspend();
      stopped += token.stop_requested() ? 1 : 0;
    };
    const Future<void> first = runtime.spawn(sleep_until_stopped);
    const Future<void> second = runtime.spawn(sleep_until_stopped);
    await([&] { return waiting.load() == 2; });
    if (all) {
      runtime.cancel();
    } else {
      first.cancel();
      first.wait();
      runtime.spawn([] {}).get();
      EXPECT_FALSE(second.ready()) << "only the other one was cancelled";
      second.cancel();
    }
    second.wait();
    first.wait();
    EXPECT_EQ(stopped, 2);
  }
}

TEST(CancelTest, AStopTokenOfATaskThatIsCancelledAlreadyOrHasCompleted) {
  Runtime runtime(Options{.workers = 2});
  std::atomic<bool> begun{false};
  std::stop_token token;
  const Future<void> cancelled = runtime.spawn([&] {
    begun.store(true);
    await_in_task([] { return this_task::cancelled(); });
    EXPECT_TRUE(this_task::stop_token().stop_requested());
  });
  await([&] { return begun.load(); });
  cancelled.cancel();
  cancelled.get();
  const Future<void> completed = runtime.spawn([&] { token = this_task::stop_token(); });
  completed.get();
  completed.cancel();
  runtime.cancel();
  EXPECT_FALSE(token.stop_requested());
  EXPECT_THROW(this_task::stop_token(), std::logic_error);
}

TEST(CancelTest, WhatHasCompleted) {
  Runtime runtime(Options{.workers = 1});
  auto future = runtime.spawn([] { return 1; });
  future.wait();
  future.cancel();
  EXPECT_EQ(future.get(), 1);
}

TEST(CancelTest, AllOfARuntime) {
  Runtime runtime(Options{.workers = 2});
  std::atomic<int> ran{0};
  std::atomic<bool> begun{false};
  auto running = runtime.spawn([&] {
    begun.store(true);
    await_in_task([] { return this_task::cancelled(); });
  });
  await([&] { return begun.load(); });
  int data = 0;
  Gate gate;
  runtime.spawn({.access = {out(data)}}, [&] { gate.pass(); });
  for (int i = 0; i < 100; ++i) {
    runtime.spawn({.access = {inout(data)}}, [&] { ran.fetch_add(1); });
  }
  runtime.cancel();
  gate.open();
  runtime.wait();
  running.get();
  EXPECT_EQ(ran.load(), 0);
}

TEST(CancelTest, WhatIsSpawnedLaterRuns) {
  Runtime runtime(Options{.workers = 2});
  std::atomic<bool> begun{false};
  auto running = runtime.spawn([&] {
    begun.store(true);
    await_in_task([] { return this_task::cancelled(); });
  });
  await([&] { return begun.load(); });
  runtime.cancel();
  running.wait();
  EXPECT_EQ(runtime.spawn([] { return this_task::cancelled() ? 0 : 3; }).get(), 3) << "without a wait in between";
  runtime.wait();
  runtime.cancel();
  EXPECT_EQ(runtime.spawn([] { return 4; }).get(), 4);
}

TEST(CancelTest, ChildrenOfACancelledTaskToo) {
  Runtime runtime(Options{.workers = 2});
  std::atomic<bool> begun{false};
  std::atomic<int> ran{0};
  runtime.spawn([&] {
    begun.store(true);
    await_in_task([] { return this_task::cancelled(); });
    for (int i = 0; i < 10; ++i) {
      spawn([&] { ran.fetch_add(1); });
    }
  });
  await([&] { return begun.load(); });
  runtime.cancel();
  runtime.wait();
  EXPECT_EQ(ran.load(), 0);
}

TEST(CancelTest, ManyRaces) {
  for (std::uint64_t round = 0; round < scaled(300, 60); ++round) {
    Random random(round);
    Runtime runtime(Options{.workers = static_cast<unsigned>(random.between(1, 4))});
    int data = 0;
    std::vector<Future<int>> futures;
    for (int i = 0; i < 20; ++i) {
      futures.push_back(runtime.spawn({.access = {random.once_in(2) ? inout(data) : in(data)}}, [i] { return i; }));
      stumble(random);
      if (random.once_in(8)) {
        futures[random.between(0, futures.size() - 1)].cancel();
      }
    }
    for (int i = 0; i < 20; ++i) {
      const auto failed = failure_of([&] { EXPECT_EQ(futures[static_cast<std::size_t>(i)].get(), i); });
      EXPECT_TRUE(!failed || failed->cancelled());
    }
    runtime.wait();
  }
}

}  // namespace
}  // namespace dovetail::test
