// Tasks in tasks: waiting for children, deep nesting, and what completion of a parent means.
#include "support.hpp"

namespace dovetail::test {
namespace {

std::uint64_t fibonacci(unsigned n) {
  if (n < 2) {
    return n;
  }
  std::uint64_t right = 0;
  auto left = spawn([n] { return fibonacci(n - 1); });
  right = fibonacci(n - 2);
  return left.get() + right;
}

TEST(NestedTest, ForkAndJoin) {
  for (unsigned workers = 1; workers <= 4; ++workers) {
    Runtime runtime(Options{.workers = workers});
    EXPECT_EQ(runtime.spawn([] { return fibonacci(static_cast<unsigned>(scaled(22, 14))); }).get(), scaled(17711, 377));
  }
}

TEST(NestedTest, WaitSeesAllChildren) {
  Runtime runtime(Options{.workers = 2});
  auto future = runtime.spawn([] {
    int wrong = 0;
    for (int round = 0; round < 200; ++round) {
      std::vector<int> values(static_cast<std::size_t>(round));
      for (int& value : values) {
        spawn([&value, round] { value = round; });
      }
      wait();
      for (const int value : values) {
        wrong += value != round ? 1 : 0;
      }
    }
    return wrong;
  });
  EXPECT_EQ(future.get(), 0);
}

TEST(NestedTest, WaitWithoutChildren) {
  Runtime runtime(Options{.workers = 1});
  runtime.spawn([] {
    wait();
    wait();
  });
  runtime.wait();
}

TEST(NestedTest, WaitCoversGrandchildren) {
  Runtime runtime(Options{.workers = 2});
  std::atomic<int> done{0};
  auto future = runtime.spawn([&] {
    for (int i = 0; i < 50; ++i) {
      spawn([&] {
        for (int k = 0; k < 20; ++k) {
          spawn([&] { done.fetch_add(1); });
        }
      });
    }
    wait();
    return done.load();
  });
  EXPECT_EQ(future.get(), 1000);
}

TEST(NestedTest, ATaskCompletesNoEarlierThanItsChildren) {
  Runtime runtime(Options{.workers = 2});
  Gate gate;
  std::atomic<bool> returned{false};
  auto future = runtime.spawn([&] {
    spawn([&] { gate.pass(); });
    returned.store(true);
  });
  await([&] { return returned.load(); });
  // Tasks spawned since then have run, yet the parent has not completed.
  EXPECT_FALSE(future.ready());
  gate.open();
  future.wait();
  EXPECT_TRUE(future.ready());
}

// Each level waits for the one below it: on one stack as far as it reaches, then on the next.
int descend(int levels) {
  int below = 0;
  if (levels > 0) {
    spawn([levels, &below] { below = descend(levels - 1); });
    wait();
  }
  return below + 1;
}

TEST(NestedTest, DeepWaits) {
  const int levels = static_cast<int>(scaled(10'000, 1'000));
  for (unsigned workers = 1; workers <= 3; ++workers) {
    Runtime runtime(Options{.workers = workers});
    EXPECT_EQ(runtime.spawn([&] { return descend(levels); }).get(), levels + 1);
  }
}

int descend_by_get(int levels) {
  return levels == 0 ? 1 : spawn([=] { return descend_by_get(levels - 1); }).get() + 1;
}

TEST(NestedTest, DeepGets) {
  const int levels = static_cast<int>(scaled(10'000, 1'000));
  Runtime runtime(Options{.workers = 2});
  EXPECT_EQ(runtime.spawn([&] { return descend_by_get(levels); }).get(), levels + 1);
}

void dig(int levels, std::atomic<int>& bottom) {
  if (levels == 0) {
    bottom.fetch_add(1);
    return;
  }
  spawn([levels, &bottom] { dig(levels - 1, bottom); });
}

TEST(NestedTest, DeepWithoutWaits) {
  // All levels complete in a row from the bottom to the top, which must not recurse.
  const int levels = static_cast<int>(scaled(200'000, 5'000));
  Runtime runtime(Options{.workers = 2});
  std::atomic<int> bottom{0};
  auto future = runtime.spawn([&] { dig(levels, bottom); });
  future.wait();
  EXPECT_EQ(bottom.load(), 1);
}

TEST(NestedTest, ADeepFamilyThatEndsAllAtOnce) {
  // Only an event of the innermost task is missing. The caller of `fulfill` completes all levels, on the stack of a task or a
  // thread.
  const int levels = static_cast<int>(scaled(100'000, 5'000));
  Runtime runtime(Options{.workers = 2, .stack_size = 16 * 1024});
  for (const bool by_a_task : {true, false}) {
    std::atomic<Events*> events{nullptr};
    std::function<void(int)> go = [&](int left) {
      if (left == 0) {
        this_task::events().add();
        events.store(&this_task::events());
      } else {
        spawn([&go, left] { go(left - 1); });
      }
    };
    auto outermost = runtime.spawn([&] { go(levels); });
    await([&] { return events.load() != nullptr; });
    if (by_a_task) {
      runtime
          .spawn([&] {
            this_task::yield();
            events.load()->fulfill();
          })
          .get();
    } else {
      events.load()->fulfill();
    }
    outermost.get();
  }
}

TEST(NestedTest, DeepWithoutWaitsOnExecutors) {
  const int levels = static_cast<int>(scaled(20'000, 2'000));
  Runtime runtime(Options{.workers = 1});
  std::atomic<int> bottom{0};
  std::function<void(int)> go = [&](int left) {
    if (left == 0) {
      bottom.fetch_add(1);
    } else {
      spawn({.io = true}, [&go, left] { go(left - 1); });
    }
  };
  runtime.spawn({.io = true}, [&] { go(levels); }).wait();
  EXPECT_EQ(bottom.load(), 1);
}

TEST(NestedTest, GetRunsNothingThatTheCallerMustComeBackFor) {
  // The second child needs its parent to go on after the get: it must not lie on top of the parent's stack meanwhile.
  for (unsigned workers = 1; workers <= 2; ++workers) {
    Runtime runtime(Options{.workers = workers, .stuck_after = std::chrono::milliseconds(500)});
    auto future = runtime.spawn([] {
      TaskHandle sleeper;
      std::atomic<bool> known{false};
      auto first = spawn([] { return 1; });
      auto second = spawn([&] {
        sleeper = this_task::handle();
        known.store(true);
        this_task::suspend();
        return 2;
      });
      const int one = first.get();
      await_in_task([&] { return known.load(); });
      sleeper.resume();
      return one + second.get();
    });
    EXPECT_EQ(future.get(), 3) << workers;
  }
}

TEST(NestedTest, SiblingsMayNeedEachOther) {
  Runtime runtime(Options{.workers = 1});
  auto future = runtime.spawn([] {
    TaskHandle sleeper;
    std::atomic<bool> known{false};
    int order = 0;
    spawn([&] {
      await_in_task([&] { return known.load(); });
      order = order * 10 + 1;
      sleeper.resume();
    });
    spawn([&] {
      sleeper = this_task::handle();
      known.store(true);
      this_task::suspend();
      order = order * 10 + 2;
    });
    wait();
    return order;
  });
  EXPECT_EQ(future.get(), 12);
}

TEST(NestedTest, WaitLeavesTasksOfOthersAlone) {
  // A task that waits for its children has a foreign one in its queue, which blocks until the wait has ended.
  Runtime runtime(Options{.workers = 2});
  Gate gate;
  runtime.spawn([&] {
    spawn([] {});
    runtime.spawn([&] { gate.pass(); });
    wait();
    gate.open();
  });
  runtime.wait();
}

TEST(NestedTest, RandomTrees) {
  for (std::uint64_t round = 0; round < scaled(20, 5); ++round) {
    Random random(round);
    Runtime runtime(Options{.workers = static_cast<unsigned>(random.between(1, 8))});
    std::atomic<std::uint64_t> made{1};
    std::atomic<std::uint64_t> ran{0};
    std::function<void(std::uint64_t, int)> grow = [&](std::uint64_t stream, int depth) {
      Random own(stream);
      ran.fetch_add(1);
      const std::uint64_t children = depth == 0 ? 0 : own.between(0, 6);
      std::vector<Future<void>> futures;
      for (std::uint64_t i = 0; i < children; ++i) {
        made.fetch_add(1);
        futures.push_back(spawn([&grow, stream, i, depth] { grow(stream * 7 + i + 1, depth - 1); }));
        stumble(own);
      }
      switch (own.between(0, 3)) {
        case 0:
          wait();
          break;
        case 1:
          for (auto& future : futures) {
            future.get();
          }
          break;
        case 2:
          this_task::yield();
          break;
        default:
          break;
      }
    };
    runtime.spawn([&] { grow(round + 1000, 6); }).get();
    EXPECT_EQ(ran.load(), made.load());
  }
}

}  // namespace
}  // namespace dovetail::test
