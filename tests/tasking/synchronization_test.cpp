// Semaphores, mutexes, latches and barriers that pause a task.
#include "dovetail/synchronization.hpp"

#include <numeric>

#include "support.hpp"

namespace dovetail::test {
namespace {

// One worker: what a task waits for comes from others on the same core, or never.
class SynchronizationTest : public testing::Test {
 protected:
  Runtime runtime_{Options{.workers = 1}};
};

TEST_F(SynchronizationTest, ALockHeldAcrossAPauseKeepsOthersOut) {
  Mutex mutex;
  int inside = 0;
  for (int i = 0; i < 20; ++i) {
    runtime_.spawn([&] {
      const std::lock_guard lock(mutex);
      EXPECT_EQ(++inside, 1);
      this_task::yield();
      EXPECT_EQ(inside--, 1);
    });
  }
  runtime_.wait();
}

TEST_F(SynchronizationTest, TheOneWhoHasWaitedLongestIsNext) {
  Mutex mutex;
  std::vector<int> order;
  mutex.lock();
  for (int i = 0; i < 5; ++i) {
    // Each is in the line before the next one is spawned.
    std::atomic<bool> started{false};
    runtime_.spawn([&, i] {
      started.store(true);
      const std::lock_guard lock(mutex);
      order.push_back(i);
    });
    await([&] { return started.load(); });
    runtime_.spawn([] {}).get();  // on the only worker, so that one waits now
  }
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock();
  runtime_.wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(mutex.try_lock());
}

TEST_F(SynchronizationTest, ALargeRequestIsNotPassedBySmallOnes) {
  Semaphore bytes(100);
  std::vector<std::string> order;
  bytes.acquire(60);
  const auto ask = [&](std::uint64_t units, const char* name) {
    runtime_.spawn([&, units, name] {
      bytes.acquire(units);
      order.emplace_back(name);
      bytes.release(units);
    });
    runtime_.spawn([] {}).get();
  };
  ask(90, "large");
  ask(10, "small");
  EXPECT_TRUE(order.empty()) << "the small one passed";
  EXPECT_FALSE(bytes.try_acquire(1)) << "this one passed too";
  EXPECT_EQ(bytes.available(), 40U);
  bytes.release(60);
  runtime_.wait();
  EXPECT_EQ(order, (std::vector<std::string>{"large", "small"}));
  EXPECT_EQ(bytes.available(), 100U);
}

TEST_F(SynchronizationTest, NeverMoreUnitsThanThereAre) {
  Semaphore units(7);
  std::uint64_t used = 0;
  Random random(1);
  for (std::size_t i = 0; i < scaled(2000, 300); ++i) {
    const std::uint64_t wanted = random.between(1, 7);
    runtime_.spawn([&, wanted] {
      units.acquire(wanted);
      used += wanted;
      EXPECT_LE(used, 7U);
      this_task::yield();
      used -= wanted;
      units.release(wanted);
    });
  }
  runtime_.wait();
  EXPECT_EQ(used, 0U);
  EXPECT_EQ(units.available(), 7U);
}

TEST_F(SynchronizationTest, AMutexTellsWhetherItIsHeld) {
  Mutex mutex;
  EXPECT_FALSE(mutex.is_locked());
  {
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(mutex.is_locked());
    EXPECT_FALSE(mutex.try_lock());
  }
  EXPECT_FALSE(mutex.is_locked());
}

TEST_F(SynchronizationTest, ALatchOpensOnceAndStaysOpen) {
  Latch latch(3);
  int passed = 0;
  for (int i = 0; i < 4; ++i) {
    runtime_.spawn([&] {
      latch.wait();
      ++passed;
    });
  }
  runtime_.spawn([&] { EXPECT_TRUE(latch.count_down(2)); }).get();
  EXPECT_FALSE(latch.try_wait());
  EXPECT_FALSE(latch.count_down(2)) << "only one step is left";
  EXPECT_EQ(latch.remaining(), 1U);
  runtime_.spawn([&] { EXPECT_EQ(passed, 0); }).get();
  runtime_.spawn([&] { latch.arrive_and_wait(); }).get();
  runtime_.wait();
  EXPECT_EQ(passed, 4);
  EXPECT_TRUE(latch.try_wait());
  EXPECT_FALSE(latch.count_down());
  latch.wait();
}

TEST_F(SynchronizationTest, NobodyIsAPhaseAheadOfABarrier) {
  constexpr int participants = 4;
  constexpr int phases = 10;
  Barrier barrier(participants);
  std::vector<int> arrived(phases, 0);
  for (int i = 0; i < participants; ++i) {
    runtime_.spawn([&] {
      for (int phase = 0; phase < phases; ++phase) {
        ++arrived[static_cast<std::size_t>(phase)];
        barrier.arrive_and_wait();
        EXPECT_EQ(arrived[static_cast<std::size_t>(phase)], participants);
      }
    });
  }
  runtime_.wait();
}

TEST_F(SynchronizationTest, WhoDropsOutOfABarrierIsNotWaitedFor) {
  Barrier barrier(3);
  int passed = 0;
  for (int i = 0; i < 2; ++i) {
    runtime_.spawn([&] {
      barrier.arrive_and_wait();
      barrier.arrive_and_wait();
      ++passed;
    });
  }
  runtime_.spawn([&] { EXPECT_EQ(passed, 0); }).get();
  runtime_.spawn([&] { EXPECT_TRUE(barrier.arrive_and_drop()); });
  runtime_.wait();
  EXPECT_EQ(passed, 2);
  EXPECT_EQ(barrier.participants(), 2U);
  EXPECT_TRUE(barrier.arrive_and_drop());
  EXPECT_TRUE(barrier.arrive_and_drop());
  EXPECT_FALSE(barrier.arrive_and_drop()) << "nobody is left";
}

TEST_F(SynchronizationTest, ThreadsAndIoTasksWaitToo) {
  Mutex mutex;
  int total = 0;
  const auto add = [&] {
    for (int i = 0; i < 200; ++i) {
      const std::lock_guard lock(mutex);
      const int before = total;
      if (this_task::active()) {
        this_task::yield();
      }
      total = before + 1;
    }
  };
  std::thread thread(add);
  std::vector<Future<void>> tasks;
  for (const bool io : {false, false, true, true}) {
    tasks.push_back(runtime_.spawn({.io = io}, add));
  }
  thread.join();
  for (Future<void>& task : tasks) {
    task.get();
  }
  EXPECT_EQ(total, 1000);
}

// A resume that was meant for the task's own suspend does not end its wait in a line, and is not lost.
TEST_F(SynchronizationTest, AResumeDuringAWaitIsKept) {
  Mutex mutex;
  mutex.lock();
  TaskHandle handle;
  std::atomic<int> stage{0};
  const Future<void> task = runtime_.spawn([&] {
    handle = this_task::handle();
    stage.store(1);
    mutex.lock();
    stage.store(2);
    this_task::suspend();
    stage.store(3);
    mutex.unlock();
  });
  await([&] { return stage.load() == 1; });
  runtime_.spawn([] {}).get();  // it waits now
  handle.resume();
  runtime_.spawn([] {}).get();
  EXPECT_EQ(stage.load(), 1);
  mutex.unlock();
  task.wait();
  EXPECT_EQ(stage.load(), 3);
}

TEST_F(SynchronizationTest, AResumeBeforeAWaitIsKept) {
  Latch latch(1);
  const Future<void> task = runtime_.spawn([&] {
    this_task::handle().resume();
    latch.wait();
    this_task::suspend();
  });
  runtime_.spawn([] {}).get();
  EXPECT_FALSE(task.ready());
  latch.count_down();
  task.wait();
}

TEST(SynchronizationStuckTest, WhoWaitsForEverIsToldAndHasLeftTheLine) {
  Runtime runtime(Options{.workers = 1, .stuck_after = std::chrono::milliseconds(50)});
  Semaphore semaphore(0);
  Latch latch(1);
  Barrier barrier(2);
  bool told[3] = {};
  testing::internal::CaptureStderr();
  const auto wait = [&](const char* label, bool& flag, std::function<void()> body) {
    return runtime.spawn({.label = label}, [&flag, body] {
      try {
        body();
      } catch (const Stuck&) {
        flag = true;
      }
    });
  };
  wait("taker", told[0], [&] { semaphore.acquire(3); });
  wait("passer", told[1], [&] { latch.wait(); });
  wait("arriver", told[2], [&] { barrier.arrive_and_wait(); });
  EXPECT_THROW(runtime.wait(), Stuck);
  runtime.wait();
  const std::string report = testing::internal::GetCapturedStderr();
  EXPECT_NE(report.find("'taker' waits for a Semaphore or Mutex"), std::string::npos) << report;
  EXPECT_NE(report.find("'passer' waits for a Latch"), std::string::npos) << report;
  EXPECT_NE(report.find("'arriver' waits for a Barrier"), std::string::npos) << report;
  EXPECT_TRUE(told[0] && told[1] && told[2]);
  semaphore.release(3);
  EXPECT_TRUE(semaphore.try_acquire(3)) << "it still stands in line";
}

// One that gives up made others wait behind it.
TEST(SynchronizationStuckTest, ThoseBehindOneWhoGaveUpAreServed) {
  Runtime runtime(Options{.workers = 1, .stuck_after = std::chrono::milliseconds(50)});
  Semaphore semaphore(1);
  std::atomic<bool> told{false};
  runtime.spawn([&] {
    try {
      semaphore.acquire(2);
    } catch (const Stuck&) {
      told.store(true);
    }
  });
  runtime.spawn([] {}).get();
  std::thread behind([&] { semaphore.acquire(1); });
  testing::internal::CaptureStderr();
  EXPECT_THROW(runtime.wait(), Stuck);
  behind.join();
  testing::internal::GetCapturedStderr();
  runtime.wait();
  EXPECT_TRUE(told.load());
  EXPECT_EQ(semaphore.available(), 0U);
}

// Any number of workers, threads beside them, and pauses at random.
TEST(SynchronizationRandomTest, NoUnitIsLostAndNobodyIsForgotten) {
  for (std::uint64_t round = 0; round < scaled(20, 4); ++round) {
    Random random(round);
    const std::uint64_t units = random.between(1, 5);
    Semaphore semaphore(units);
    std::atomic<std::uint64_t> used{0};
    std::atomic<std::uint64_t> done{0};
    const std::uint64_t tasks = scaled(3000, 300);
    {
      Runtime runtime(Options{.workers = static_cast<unsigned>(random.between(1, 4))});
      const auto use = [&](std::uint64_t wanted, bool yields) {
        semaphore.acquire(wanted);
        EXPECT_LE(used.fetch_add(wanted) + wanted, units);
        if (yields) {
          this_task::yield();
        }
        used.fetch_sub(wanted);
        semaphore.release(wanted);
        done.fetch_add(1);
      };
      std::thread thread([&] {
        for (std::uint64_t i = 0; i < tasks; ++i) {
          use(1, false);
        }
      });
      for (std::uint64_t i = 0; i < tasks; ++i) {
        const std::uint64_t wanted = random.between(1, units);
        const bool yields = random.once_in(3);
        runtime.spawn([&use, wanted, yields] { use(wanted, yields); });
      }
      thread.join();
      runtime.wait();
    }
    EXPECT_EQ(done.load(), 2 * tasks);
    EXPECT_EQ(semaphore.available(), units);
  }
}

}  // namespace
}  // namespace dovetail::test
