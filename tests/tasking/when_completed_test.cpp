// Callbacks of futures, and coroutines that await them.
#include <coroutine>

#include "support.hpp"

namespace dovetail::test {
namespace {

TEST(WhenCompletedTest, EachIsCalledOnceInOrderBeforeTheRuntimeHasWaited) {
  Runtime runtime(Options{.workers = 2});
  Gate gate;
  std::vector<int> called;
  Future<void> future = runtime.spawn([&] { gate.pass(); });
  for (int i = 0; i < 5; ++i) {
    future.when_completed([&, i] { called.push_back(i); });
  }
  future = {};  // no future holds the task
  EXPECT_TRUE(called.empty());
  gate.open();
  runtime.wait();
  EXPECT_EQ(called, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST(WhenCompletedTest, AtOnceIfItHasCompleted) {
  Runtime runtime(Options{.workers = 1});
  const Future<int> future = runtime.spawn([] { return 4; });
  future.wait();
  int seen = 0;
  future.when_completed([&] { seen = future.get(); });
  EXPECT_EQ(seen, 4);
  EXPECT_THROW(Future<int>().when_completed([] {}), std::logic_error);
}

// The only worker would wait for a task that needs it.
TEST(WhenCompletedTest, AWaitInACallbackIsRefused) {
  Runtime runtime(Options{.workers = 1});
  Gate gate;
  Semaphore semaphore(0);
  Latch latch(1);
  Barrier barrier(2);
  std::vector<std::string> refused;
  const Future<void> future = runtime.spawn([&] { gate.pass(); });
  future.when_completed([&] {
    const Future<void> other = runtime.spawn([] {});
    const std::vector<std::function<void()>> waits{[&] { other.wait(); },    [&] { runtime.wait(); },
                                                   [&] { select({other}); }, [&] { semaphore.acquire(); },
                                                   [&] { latch.wait(); },    [&] { barrier.arrive_and_wait(); }};
    for (const std::function<void()>& wait : waits) {
      try {
        wait();
      } catch (const std::logic_error& error) {
        refused.emplace_back(error.what());
      }
    }
  });
  gate.open();
  runtime.wait();
  ASSERT_EQ(refused.size(), 6U);
  for (const std::string& text : refused) {
    EXPECT_NE(text.find("callback"), std::string::npos) << text;
  }
  auto first = runtime.spawn([&] { barrier.arrive_and_wait(); });
  runtime.spawn([&] { barrier.arrive_and_wait(); }).get();
  first.get();
  semaphore.release();
  EXPECT_TRUE(semaphore.try_acquire()) << "nobody is left in the line";
}

TEST(WhenCompletedTest, AlsoForWhatFailedOrWasCancelled) {
  Runtime runtime(Options{.workers = 1});
  Gate gate;
  std::atomic<int> called{0};
  const Future<void> holder = runtime.spawn([&] { gate.pass(); });
  const Future<void> fails = runtime.spawn([] { throw std::runtime_error("no"); });
  const Future<void> cancelled = runtime.spawn([] {});
  fails.when_completed([&] { called += fails.ready() ? 1 : 0; });
  cancelled.when_completed([&] { called += cancelled.ready() ? 10 : 0; });
  cancelled.cancel();
  gate.open();
  EXPECT_THROW(runtime.wait(), TaskFailed);
  EXPECT_EQ(called.load(), 11);
  EXPECT_THROW(cancelled.get(), TaskFailed);
}

// A callback belongs to no task, wherever the last event of the other was fulfilled.
TEST(WhenCompletedTest, OutsideOfTheTaskThatCompletesAnother) {
  Runtime runtime(Options{.workers = 1});
  Events* events = nullptr;
  bool in_task = true;
  bool spawned = false;
  const Future<void> waits = runtime.spawn([&] {
    events = &this_task::events();
    events->add();
  });
  runtime.spawn([] {}).get();
  waits.when_completed([&] {
    in_task = this_task::active();
    runtime.spawn([&] { spawned = true; });
  });
  runtime
      .spawn({.label = "fulfiller"},
             [&] {
               events->fulfill();
               EXPECT_TRUE(waits.ready());
               EXPECT_EQ(this_task::label(), "fulfiller") << "the task that fulfils is itself again";
             })
      .get();
  runtime.wait();
  EXPECT_FALSE(in_task);
  EXPECT_TRUE(spawned);
}

// What a callback makes ready does not wait for the body that happened to complete the task.
TEST(WhenCompletedTest, WhatItSpawnsIsForAllWorkers) {
  Runtime runtime(Options{.workers = 2});
  std::atomic<Events*> events{nullptr};
  std::atomic<bool> spawned{false};
  const Future<void> waits = runtime.spawn([&] {
    this_task::events().add();
    events.store(&this_task::events());
  });
  await([&] { return events.load() != nullptr; });
  waits.when_completed([&] { runtime.spawn([&] { spawned.store(true); }); });
  runtime
      .spawn([&] {
        events.load()->fulfill();
        await([&] { return spawned.load(); });
      })
      .get();
}

TEST(WhenCompletedTest, AnEmptyCallbackIsRefused) {
  Runtime runtime(Options{.workers = 1});
  const Future<void> future = runtime.spawn([] {});
  EXPECT_THROW(future.when_completed({}), std::invalid_argument);
  future.wait();
  EXPECT_THROW(future.when_completed({}), std::invalid_argument);
}

TEST(WhenCompletedTest, WhileTheTaskCompletes) {
  Runtime runtime(Options{.workers = 2});
  std::atomic<std::size_t> called{0};
  const std::size_t tasks = scaled(20000, 2000);
  for (std::size_t i = 0; i < tasks; ++i) {
    runtime.spawn([] {}).when_completed([&] { called.fetch_add(1); });
  }
  runtime.wait();
  EXPECT_EQ(called.load(), tasks);
}

// A coroutine that begins at once and frees itself at its end.
struct Detached {
  struct promise_type {
    Detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

Detached add_up(Runtime& runtime, int count, std::atomic<int>& sum) {
  for (int i = 1; i <= count; ++i) {
    sum.fetch_add(co_await runtime.spawn([i] {
      this_task::yield();
      return i;
    }));
    if (this_task::active()) {
      this_task::yield();
    }
  }
}

TEST(AwaitTest, TheResultComesOutOfIt) {
  Runtime runtime(Options{.workers = 2});
  for (int i = 0; i < 50; ++i) {
    std::atomic<int> sum{0};
    add_up(runtime, 20, sum);
    await([&] { return sum.load() == 210; });
    runtime.wait();
    EXPECT_EQ(sum.load(), 210);
  }
}

Detached take_failure(Future<int> future, std::string& told) {
  try {
    told = std::to_string(co_await future);
  } catch (const TaskFailed& failure) {
    told = failure.what();
  }
}

TEST(AwaitTest, AFailureComesOutOfIt) {
  Runtime runtime(Options{.workers = 1});
  Gate gate;
  std::string told;
  take_failure(runtime.spawn({.label = "fails"},
                             [&]() -> int {
                               gate.pass();
                               throw std::runtime_error("too bad");
                             }),
               told);
  EXPECT_TRUE(told.empty());
  gate.open();
  runtime.wait();
  EXPECT_NE(told.find("too bad"), std::string::npos) << told;
  take_failure(runtime.spawn([] { return 3; }), told);
  runtime.wait();
  EXPECT_EQ(told, "3");
}

Detached in_a_task(Future<void> future, bool& waited, bool& active) {
  waited = !future.ready();
  co_await future;
  active = this_task::active();
}

TEST(AwaitTest, WhatFollowsIsInATask) {
  Runtime runtime(Options{.workers = 1});
  Gate gate;
  bool waited = false;
  bool active = false;
  in_a_task(runtime.spawn([&] { gate.pass(); }), waited, active);
  gate.open();
  runtime.wait();
  EXPECT_TRUE(waited);
  EXPECT_TRUE(active);
}

}  // namespace
}  // namespace dovetail::test
