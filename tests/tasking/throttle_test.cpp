// Spawning faster than executing: bounded, and never a deadlock.
#include "support.hpp"
#include "tasking/core.hpp"

namespace dovetail::test {
namespace {

constexpr std::size_t limit = 1'000;
// A spawner looks only now and then, and every worker may hold some that it has not counted yet.
constexpr std::size_t slack = 2'000;

struct Pending {
  std::atomic<std::size_t> made{0};
  std::atomic<std::size_t> completed{0};
  std::atomic<std::size_t> most{0};
  void make() {
    const std::size_t now = made.fetch_add(1) + 1 - completed.load();
    std::size_t seen = most.load();
    while (now > seen && !most.compare_exchange_weak(seen, now)) {
    }
  }
};

TEST(ThrottleTest, AForeignThreadIsHeldBack) {
  Runtime runtime(Options{.workers = 2, .pending_limit = limit});
  Pending pending;
  for (std::size_t i = 0; i < scaled(20'000, 10'000); ++i) {
    pending.make();
    runtime.spawn([&] {
      std::this_thread::yield();
      pending.completed.fetch_add(1);
    });
  }
  runtime.wait();
  EXPECT_LE(pending.most.load(), limit + slack);
}

TEST(ThrottleTest, ATaskIsHeldBack) {
  for (unsigned workers = 1; workers <= 3; ++workers) {
    Runtime runtime(Options{.workers = workers, .pending_limit = limit});
    Pending pending;
    runtime.spawn([&] {
      for (std::size_t i = 0; i < scaled(50'000, 10'000); ++i) {
        pending.make();
        spawn([&] { pending.completed.fetch_add(1); });
      }
    });
    runtime.wait();
    EXPECT_LE(pending.most.load(), limit + slack) << workers;
  }
}

// A task for each element, and after each of them one that reads all: each waits for all those of the other kind that are pending. A program need
// not set a limit to be spared the square of a window that suits other tasks.
TEST(ThrottleTest, FewTasksArePendingWhereEachWaitsForManyOthers) {
  std::array<int, 1'000> elements{};
  Runtime runtime(Options{.workers = 1});
  Pending pending;
  int wrong = 0;
  runtime.spawn([&] {
    for (int& element : elements) {
      pending.make();
      spawn({.access = {out(element)}}, [&] {
        element = 1;
        pending.completed.fetch_add(1);
      });
      pending.make();
      spawn({.access = {in(elements), inout(wrong)}}, [&] {
        wrong += element == 1 ? 0 : 1;
        pending.completed.fetch_add(1);
      });
    }
  });
  runtime.wait();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(pending.most.load(), 500U) << "the usual limit is 1024 at least";
}

// A window of such tasks that does not fit the caches costs more than they do. A thread goes on further, since to hold it back takes longer.
TEST(ThrottleTest, FewShortTasksWithAccessesArePending) {
#if DOVETAIL_ADDRESS_SANITIZER || DOVETAIL_THREAD_SANITIZER
  GTEST_SKIP() << "no task is short under a sanitizer";
#endif
  constexpr std::size_t all = 100'000;
  Runtime runtime(Options{.workers = 1});
  Pending pending;
  std::array<char, 16> data{};
  runtime.spawn([&] {
    for (std::size_t i = 0; i < all; ++i) {
      if (i == all / 2) {
        pending.most.store(0);
      }
      pending.make();
      spawn({.access = {inout(data[i % data.size()])}}, [&] { pending.completed.fetch_add(1); });
    }
  });
  runtime.wait();
  EXPECT_LT(pending.most.load(), 800U);
  EXPECT_TRUE(runtime.core().throttle.is_crowded(800));
  EXPECT_FALSE(runtime.core().throttle.is_crowded(800, tasking::Throttle::Spawner::thread));
}

// Rows of independent tasks after rows show what can run only if the window holds more than a row. So longer tasks have a wide one, at once.
TEST(ThrottleTest, TasksThatAreNotShortMayBeMany) {
  constexpr std::size_t short_ones = 20'000;
  constexpr std::size_t long_ones = 1'600;
  Runtime runtime(Options{.workers = 1});
  Pending pending;
  std::array<char, 16> data{};
  runtime.spawn([&] {
    for (std::size_t i = 0; i < short_ones + long_ones; ++i) {
      if (i == short_ones) {
        pending.most.store(0);
      }
      pending.make();
      spawn({.access = {inout(data[i % data.size()])}}, [&, i] {
        const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(i < short_ones ? 0 : 150);
        while (std::chrono::steady_clock::now() < end) {
        }
        pending.completed.fetch_add(1);
      });
    }
  });
  runtime.wait();
  EXPECT_GE(pending.most.load(), 1'000U);
}

// While nothing gets done, the limit that follows the tasks holds a spawner back, too.
TEST(ThrottleTest, WithoutALimitOfTheProgramASpawnerIsHeldBackAsWell) {
  constexpr std::size_t all = 200'000;  // more than it lets through at most
  Runtime runtime(Options{.workers = 1});
  std::atomic<bool> over{false};
  runtime.spawn([&] {
    while (!over.load()) {
    }
  });
  std::atomic<std::size_t> spawned{0};
  std::thread spawner([&] {
    for (std::size_t i = 0; i < all; ++i) {
      runtime.spawn([] {});
      spawned.fetch_add(1);
    }
  });
  tasking::ForeignWaits& foreign = runtime.core().foreign;
  const auto is_held_back_for_good_reason = [&] {
    const base::LockGuard lock(foreign.mutex);
    return foreign.held_back > 0 &&
           runtime.core().throttle.is_crowded(runtime.core().totals.pending(), tasking::Throttle::Spawner::thread);
  };
  await([&] { return is_held_back_for_good_reason() || spawned.load() == all; });
  EXPECT_LT(spawned.load(), all);
  over.store(true);
  spawner.join();
  runtime.wait();
}

// Its tasks are long. If it went on for more than one task each time, their number would have no bound.
TEST(ThrottleTest, AThreadThatNothingMakesRoomForIsHeldBackForEachTask) {
  constexpr int crowd = 256;
  constexpr int more = 4;
  Runtime runtime(Options{.workers = 1, .pending_limit = 64});
  std::atomic<bool> over{false};
  runtime.spawn([&] {
    while (!over.load()) {
    }
  });
  int spawned = 0;
  while (!runtime.core().throttle.is_overrun() && spawned < crowd) {
    runtime.spawn([] {});
    ++spawned;
  }
  EXPECT_LT(spawned, crowd);
  for (int i = 0; i < more; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    runtime.spawn([] {});
    EXPECT_GE(std::chrono::steady_clock::now() - begin, tasking::Throttle::between_releases) << i;
  }
  over.store(true);
  runtime.wait();
}

TEST(ThrottleTest, TasksThatWaitForTheSpawner) {
  // None of them can complete before the spawner has made all and opened the way: it must not be held for good.
  for (unsigned workers = 1; workers <= 2; ++workers) {
    Runtime runtime(Options{.workers = workers, .pending_limit = 100});
    int data = 0;
    std::atomic<Events*> events{nullptr};
    runtime.spawn({.access = {out(data)}}, [&] {
      this_task::events().add();
      events.store(&this_task::events());
    });
    std::atomic<int> ran{0};
    for (int i = 0; i < 2'000; ++i) {
      runtime.spawn({.access = {in(data)}}, [&] { ran.fetch_add(1); });
    }
    EXPECT_EQ(ran.load(), 0);
    await([&] { return events.load() != nullptr; });
    events.load()->fulfill();
    runtime.wait();
    EXPECT_EQ(ran.load(), 2'000);
  }
}

TEST(ThrottleTest, TasksThatWaitForTheirParent) {
  for (unsigned workers = 1; workers <= 2; ++workers) {
    Runtime runtime(Options{.workers = workers, .pending_limit = 100});
    std::atomic<int> ran{0};
    runtime.spawn([&] {
      int data = 0;
      TaskHandle first;
      std::atomic<bool> known{false};
      spawn({.access = {out(data)}}, [&] {
        first = this_task::handle();
        known.store(true);
        this_task::suspend();
      });
      for (int i = 0; i < 2'000; ++i) {
        spawn({.access = {in(data)}}, [&] { ran.fetch_add(1); });
      }
      await_in_task([&] { return known.load(); });
      EXPECT_EQ(ran.load(), 0);
      first.resume();
      wait();
    });
    runtime.wait();
    EXPECT_EQ(ran.load(), 2'000);
  }
}

TEST(ThrottleTest, TasksThatWaitForTheSpawnerWhileSomethingIsInFlight) {
  // A timer is always running: "nothing is in flight" never holds, and yet the spawner has to go on.
  Runtime runtime(Options{.workers = 1, .pending_limit = 64});
  std::atomic<bool> over{false};
  runtime.spawn([&] {
    while (!over.load()) {
      this_task::wait_for(std::chrono::milliseconds(1));
    }
  });
  int data = 0;
  std::atomic<Events*> events{nullptr};
  runtime.spawn({.access = {out(data)}}, [&] {
    this_task::events().add();
    events.store(&this_task::events());
  });
  for (int i = 0; i < 200; ++i) {
    runtime.spawn({.access = {in(data)}}, [] {});
  }
  await([&] { return events.load() != nullptr; });
  events.load()->fulfill();
  over.store(true);
  runtime.wait();
}

TEST(ThrottleTest, ATaskThatAnExecutorWaitsFor) {
  // The body on the executor may be what the others wait for, and all workers sleep: the reactor lets the spawner go on.
  Runtime runtime(Options{.workers = 2, .io_executors = 1, .pending_limit = 64});
  std::atomic<bool> over{false};
  runtime.spawn({.io = true}, [&] { over.wait(false); });
  int data = 0;
  std::atomic<Events*> events{nullptr};
  runtime.spawn([&] {
    spawn({.access = {out(data)}}, [&] {
      this_task::events().add();
      events.store(&this_task::events());
    });
    for (int i = 0; i < 200; ++i) {
      spawn({.access = {in(data)}}, [] {});
    }
    await([&] { return events.load() != nullptr; });
    events.load()->fulfill();
    over.store(true);
    over.notify_all();
  });
  runtime.wait();
}

TEST(ThrottleTest, SpawnersThatSpawnSpawners) {
  Runtime runtime(Options{.workers = 3, .pending_limit = 50});
  std::atomic<int> ran{0};
  std::function<void(int)> grow = [&](int depth) {
    ran.fetch_add(1);
    for (int i = 0; depth > 0 && i < 8; ++i) {
      spawn([&grow, depth] { grow(depth - 1); });
    }
    if (depth % 2 == 0) {
      wait();
    }
  };
  runtime.spawn([&] { grow(4); });
  runtime.wait();
  EXPECT_EQ(ran.load(), 1 + 8 + 64 + 512 + 4096);
}

TEST(ThrottleTest, IoTasksAndOnreadyMaySpawn) {
  Runtime runtime(Options{.workers = 2, .io_executors = 2, .pending_limit = 50});
  std::atomic<int> ran{0};
  for (int t = 0; t < 4; ++t) {
    runtime.spawn({.io = true,
                   .onready =
                       [&] {
                         for (int i = 0; i < 500; ++i) {
                           runtime.spawn([&] { ran.fetch_add(1); });
                         }
                       }},
                  [&] {
                    for (int i = 0; i < 500; ++i) {
                      spawn([&] { ran.fetch_add(1); });
                    }
                  });
  }
  runtime.wait();
  EXPECT_EQ(ran.load(), 4'000);
}

// The children wait for the spawner, so that none of them ends; and no worker looks, since all of this is on executors. A failure is a hang.
TEST(ThrottleTest, AnIoTaskThatSpawnsIsNotHeldForEver) {
  Runtime runtime(Options{.workers = 1, .io_executors = 16, .pending_limit = 4});
  runtime
      .spawn({.label = "spawner", .io = true},
             [&] {
               std::latch spawned(1);
               for (int i = 0; i < 8; ++i) {
                 spawn({.label = "child", .io = true}, [&] { spawned.wait(); });
               }
               spawned.count_down();
               wait();
             })
      .get();
}

// A failure takes hours, since a spawner goes on ten times a second in any case.
TEST(ThrottleTest, IoTasksThatEndMakeRoomForTheOnesToCome) {
  for (const bool inside : {false, true}) {
    Runtime runtime(Options{.workers = 2, .pending_limit = 16});
    std::atomic<std::size_t> ran{0};
    const auto spawn_all = [&] {
      for (int i = 0; i < 100'000; ++i) {
        runtime.spawn({.label = "io", .io = true}, [&] { ran.fetch_add(1, std::memory_order_relaxed); });
      }
    };
    if (inside) {
      runtime.spawn(spawn_all).get();
    } else {
      spawn_all();
    }
    runtime.wait();
    EXPECT_EQ(ran.load(), 100'000U);
  }
}

TEST(ThrottleTest, MemoryOfAMillionTasksIsBounded) {
  const std::size_t count = scaled(1'000'000, 20'000);
  for (const bool inside : {false, true}) {
    Runtime runtime(Options{.workers = 2});
    std::atomic<std::size_t> ran{0};
    long data[16] = {};
    auto spawn_all = [&](auto&& make) {
      for (std::size_t i = 0; i < count; ++i) {
        make({.access = {inout(data[i % 16])}}, [&] { ran.fetch_add(1, std::memory_order_relaxed); });
      }
    };
    const std::size_t before = resident_bytes();
    if (inside) {
      runtime.spawn([&] { spawn_all([](const TaskDescription& d, auto body) { spawn(d, body); }); });
    } else {
      spawn_all([&](const TaskDescription& d, auto body) { runtime.spawn(d, body); });
    }
    runtime.wait();
    EXPECT_EQ(ran.load(), count);
    if (count >= 1'000'000) {
      EXPECT_LT(resident_bytes(), before + (200UL << 20));
    }
  }
}

}  // namespace
}  // namespace dovetail::test
