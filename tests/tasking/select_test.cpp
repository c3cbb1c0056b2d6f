// Waiting for the first of several things, and for a limited time.
#include "dovetail/select.hpp"

#include <numeric>

#include "support.hpp"
#include "tasking/core.hpp"

namespace dovetail::test {
namespace {

using namespace std::chrono_literals;

// One worker: what a task waits for comes from others on the same core, or never.
class SelectTest : public testing::Test {
 protected:
  // Returns when the only worker has nothing to do but what waits.
  void settle_down() {
    runtime_.spawn([] {}).get();
  }
  Future<void> spawn_waiting_for(TaskHandle& handle) {
    auto future = runtime_.spawn([&] {
      handle = this_task::handle();
      this_task::suspend();
    });
    settle_down();
    return future;
  }
  Runtime runtime_{Options{.workers = 1, .report_after = 0ms}};
};

TEST_F(SelectTest, TheFirstToHappenIsChosen) {
  TaskHandle handle;
  const Future<void> slow = spawn_waiting_for(handle);
  Semaphore units(0);
  Latch latch(1);
  std::vector<std::optional<std::size_t>> chosen(4);
  for (auto& place : chosen) {
    runtime_.spawn([&] { place = select({slow, {units, 2}, latch}); });
  }
  settle_down();
  EXPECT_EQ(chosen[0], std::nullopt);
  units.release(1);
  settle_down();
  EXPECT_EQ(chosen[0], std::nullopt) << "one unit is too little";
  units.release(1);
  settle_down();
  EXPECT_EQ(chosen[0], 1U);
  EXPECT_EQ(chosen[1], std::nullopt);
  EXPECT_EQ(units.available(), 0U) << "taken";
  latch.count_down();
  settle_down();
  EXPECT_EQ(chosen, (std::vector<std::optional<std::size_t>>{1U, 2U, 2U, 2U}));
  units.release(5);
  EXPECT_EQ(units.available(), 5U) << "those that were served otherwise have left the line";
  handle.resume();
  runtime_.wait();
}

TEST_F(SelectTest, OfSeveralThatHaveHappenedTheFirstInTheList) {
  const Future<int> done = runtime_.spawn([] { return 1; });
  done.wait();
  Latch open(0);
  Semaphore units(1);
  EXPECT_EQ(select({done, open, units}), 0U);
  EXPECT_EQ(select({open, done, units}), 0U);
  EXPECT_EQ(units.available(), 1U) << "nothing was taken of what was not chosen";
  EXPECT_EQ(select({units, done}), 0U);
  EXPECT_EQ(units.available(), 0U);
  EXPECT_EQ(select({units, done}), 1U);
}

TEST_F(SelectTest, WaitForAnySaysWhich) {
  TaskHandle first;
  TaskHandle second;
  const Future<void> a = spawn_waiting_for(first);
  const Future<void> b = spawn_waiting_for(second);
  const std::vector<Future<void>> both{a, b};
  auto in_a_task = runtime_.spawn([&] { return wait_for_any(a, b); });
  auto in_an_io_task = runtime_.spawn({.io = true}, [&] { return wait_for_any(std::span(both)); });
  std::size_t in_a_thread = 7;
  std::thread thread([&] { in_a_thread = wait_for_any(both); });
  settle_down();
  EXPECT_FALSE(in_a_task.ready());
  EXPECT_EQ(wait_for_any({.at_most = 1ms}, a, b), std::nullopt);
  EXPECT_EQ(wait_for_any({.at_most = 0ns}, both), std::nullopt);
  second.resume();
  EXPECT_EQ(in_a_task.get(), 1U);
  EXPECT_EQ(in_an_io_task.get(), 1U);
  thread.join();
  EXPECT_EQ(in_a_thread, 1U);
  first.resume();
  EXPECT_EQ(wait_for_any({.at_most = 1h}, a), 0U);
  a.wait();
  EXPECT_EQ(wait_for_any(a, b), 0U);
}

TEST_F(SelectTest, AFailureIsAnEnd) {
  auto fails = runtime_.spawn([]() -> int { throw std::runtime_error("no"); });
  EXPECT_EQ(wait_for_any(fails), 0U);
  EXPECT_THROW(fails.get(), TaskFailed);
}

TEST_F(SelectTest, AChildIsWaitedForOnTheOnlyWorker) {
  runtime_
      .spawn([] {
        auto child = spawn([] { return 5; });
        EXPECT_TRUE(child.wait_for(1h));
        EXPECT_EQ(child.get(), 5);
      })
      .get();
}

TEST_F(SelectTest, AStopRequestEndsTheWait) {
  Semaphore units(0);
  std::optional<std::size_t> chosen = 9U;
  const Future<void> task = runtime_.spawn([&] { chosen = select({units}, {.stop = this_task::stop_token()}); });
  settle_down();
  EXPECT_FALSE(task.ready());
  task.cancel();
  task.wait();
  EXPECT_EQ(chosen, std::nullopt);
  units.release();
  EXPECT_EQ(units.available(), 1U) << "it has left the line";

  std::stop_source source;
  std::thread thread([&] { chosen = select({Alternative(units, 2)}, {.at_most = 1h, .stop = source.get_token()}); });
  source.request_stop();
  thread.join();
  EXPECT_EQ(chosen, std::nullopt);
  EXPECT_EQ(select({Alternative(units, 2)}, {.stop = source.get_token()}), std::nullopt);
  EXPECT_EQ(select({units}, {.stop = source.get_token()}), 0U) << "what has happened counts";
}

TEST_F(SelectTest, AResumeMeanwhileIsKept) {
  Latch latch(1);
  TaskHandle handle;
  const Future<void> task = runtime_.spawn([&] {
    handle = this_task::handle();
    EXPECT_EQ(select({latch}), 0U);
    this_task::suspend();
  });
  settle_down();
  handle.resume();
  settle_down();
  EXPECT_FALSE(task.ready());
  latch.count_down();
  task.wait();
}

TEST_F(SelectTest, OperationsOfASource) {
  PollingService service(runtime_, "mail", {}, [] { return std::size_t{0}; });
  PendingOperation good = service.expect("a letter");
  PendingOperation bad = service.expect("a parcel");
  std::atomic<std::size_t> chosen{9};
  const Future<void> task = runtime_.spawn([&] {
    const std::size_t first = select({good, bad}).value();
    EXPECT_THROW(bad.wait(), std::runtime_error);
    EXPECT_FALSE(good.wait_for(1ms)) << "it has not ended";
    chosen.store(first);
    EXPECT_TRUE(good.wait_for(1h));
  });
  settle_down();
  EXPECT_THROW(select({good}), std::logic_error) << "one waits already";
  bad.fail(std::make_exception_ptr(std::runtime_error("lost")));
  await([&] { return chosen.load() == 1; });
  good.complete();
  task.get();
  std::thread([&] { EXPECT_EQ(select({good}), 0U); }).join();
  EXPECT_THROW(select({PendingOperation()}), std::logic_error);
}

TEST_F(SelectTest, Descriptors) {
  const Pipe one;
  const Pipe two;
  const auto wait = [&] {
    return select({Alternative::readable(one.reader()), Alternative::readable(two.reader())}, {.at_most = 1h});
  };
  auto task = runtime_.spawn(wait);
  settle_down();
  EXPECT_FALSE(task.ready());
  two.write_one('a');
  EXPECT_EQ(task.get(), 1U);
  one.write_one('b');
  EXPECT_EQ(runtime_.spawn(wait).get(), 0U) << "readable before";
  EXPECT_EQ(runtime_.spawn([&] { return select({Alternative::writable(one.writer())}); }).get(), 0U);
  EXPECT_THROW(wait(), std::logic_error) << "outside of a task";
  runtime_
      .spawn([] {
        EXPECT_THROW(select({Alternative::readable(1 << 20)}), IoError);
        EXPECT_THROW(select({Alternative::readable(1 << 20)}, {.at_most = 0ns}), IoError);
        EXPECT_THROW(select({Alternative::readable(-1)}, {.at_most = 0ns}), IoError);
      })
      .get();
}

TEST_F(SelectTest, ADescriptorThatTheKernelDoesNotWatchIsReady) {
  char name[] = "/tmp/dovetail-select-XXXXXX";
  const int file = mkstemp(name);
  ASSERT_GE(file, 0);
  unlink(name);
  Latch never(1);
  EXPECT_EQ(runtime_.spawn([&] { return select({never, Alternative::readable(file)}); }).get(), 1U);
  close(file);
}

TEST_F(SelectTest, WhatMakesNoSenseIsRefused) {
  Latch latch(1);
  EXPECT_THROW(select({}), std::invalid_argument);
  EXPECT_THROW(wait_for_any(std::vector<Future<int>>()), std::invalid_argument);
  EXPECT_THROW(wait_for_any(Future<int>()), std::logic_error);
  EXPECT_THROW(select({latch, Future<int>()}), std::logic_error);
  Future<void> itself;
  Latch given(1);
  itself = runtime_.spawn([&] {
    given.wait();
    EXPECT_THROW(itself.wait_for(1ms), std::logic_error);
  });
  given.count_down();
  itself.get();
}

// The list of those that wait for a task, and that of timers, hold no wait that is over.
TEST_F(SelectTest, EndedWaitsLeaveNothingBehind) {
  TaskHandle handle;
  const Future<void> slow = spawn_waiting_for(handle);
  Semaphore units(0);
  const Pipe pipe;
  const auto wait_often = [&](std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) {
      slow.wait_for(1ns);
      units.release();
      EXPECT_TRUE(units.try_acquire_for(1h));
      spawn([&] { units.release(); });
      EXPECT_EQ(select({slow, units}, {.at_most = 1h}), 1U);
      spawn([&] { pipe.write_one('x'); });
      EXPECT_TRUE(this_task::wait_readable(pipe.reader(), 1h));
      EXPECT_EQ(pipe.read_one(), 'x');
    }
    wait();
  };
  runtime_.spawn([&] { wait_often(200); }).get();
  const std::size_t before = allocated_bytes();
  runtime_.spawn([&] { wait_often(scaled(5000, 500)); }).get();
  EXPECT_LT(allocated_bytes(), before + 20'000);
  handle.resume();
  runtime_.wait();
}

TEST_F(SelectTest, ALockWithALimit) {
  std::mutex of_the_test;
  Mutex mutex;
  {
    const std::unique_lock held(mutex, 1h);
    EXPECT_TRUE(held.owns_lock());
    const std::unique_lock refused(mutex, 1ms);
    EXPECT_FALSE(refused.owns_lock());
    EXPECT_FALSE(mutex.try_lock_until(std::chrono::system_clock::now() - 1s));
    EXPECT_FALSE(runtime_.spawn([&] { return mutex.try_lock_for(std::chrono::duration<double>(0.001)); }).get());
    auto later = runtime_.spawn([&] { return mutex.try_lock_for(std::chrono::hours::max()); });
    settle_down();
    EXPECT_FALSE(later.ready());
  }
  runtime_.wait();
  EXPECT_FALSE(mutex.try_lock()) << "the task holds it";
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
}

// One whose time is over made others wait behind it.
TEST_F(SelectTest, ThoseBehindOneWhoseTimeIsOverAreServed) {
  Semaphore units(1);
  constexpr auto limit = 20ms;
  std::chrono::steady_clock::time_point begin;
  const auto large = runtime_.spawn([&] {
    begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(units.try_acquire_for(limit, 2));
  });
  const auto small = runtime_.spawn([&] {
    units.acquire(1);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, limit) << "it does not overtake";
  });
  small.get();
  large.get();
  EXPECT_EQ(units.available(), 0U);
}

TEST_F(SelectTest, ALatchWithALimit) {
  Latch latch(1);
  EXPECT_FALSE(latch.wait_for(1ms));
  EXPECT_FALSE(runtime_.spawn([&] { return latch.wait_for(1ms); }).get());
  auto waits = runtime_.spawn([&] { return latch.wait_for(1h); });
  settle_down();
  latch.count_down();
  EXPECT_TRUE(waits.get());
  EXPECT_TRUE(latch.wait_for(0ms));
}

TEST_F(SelectTest, AnArrivalCountsAfterItsTimeIsOver) {
  Barrier barrier(2);
  EXPECT_FALSE(barrier.arrive_and_wait_for(1ms));
  // The first has given up: the second ends the phase.
  EXPECT_TRUE(runtime_.spawn([&] { return barrier.arrive_and_wait_for(1h); }).get());
  auto waits = runtime_.spawn([&] { return barrier.arrive_and_wait_for(1h); });
  settle_down();
  EXPECT_FALSE(waits.ready());
  EXPECT_TRUE(barrier.arrive_and_wait_for(0ms)) << "the last one does not wait";
  EXPECT_TRUE(waits.get());
}

TEST(SelectStuckTest, TasksThatWaitOnlyForEachOtherAreToldAtOnce) {
  Runtime runtime(Options{.workers = 1});
  Future<void> a;
  Future<void> b;
  Latch made(1);
  std::atomic<int> told{0};
  const auto wait_for_other = [&](const Future<void>& other) {
    made.wait();
    try {
      wait_for_any(other);
    } catch (const Stuck&) {
      told.fetch_add(1);
    }
  };
  testing::internal::CaptureStderr();
  a = runtime.spawn({.label = "hen"}, [&] { wait_for_other(b); });
  b = runtime.spawn({.label = "egg"}, [&] { wait_for_other(a); });
  made.count_down();
  EXPECT_THROW(wait_for_any(a, b), Stuck) << "a thread that waits for them is told, too";
  runtime.wait();
  const std::string report = testing::internal::GetCapturedStderr();
  EXPECT_NE(report.find("task 'hen' waits for task 'egg'"), std::string::npos) << report;
  EXPECT_NE(report.find("task 'egg' waits for task 'hen'"), std::string::npos) << report;
  EXPECT_GE(told.load(), 1);
}

TEST(SelectStuckTest, WhoWaitsForEverIsToldAndHasLeftTheLine) {
  Runtime runtime(Options{.workers = 1, .stuck_after = 50ms});
  Semaphore units(0);
  Latch latch(1);
  std::atomic<bool> told{false};
  testing::internal::CaptureStderr();
  runtime.spawn({.label = "chooser"}, [&] {
    try {
      select({{units, 3}, latch});
    } catch (const Stuck&) {
      told.store(true);
    }
  });
  EXPECT_THROW(runtime.wait(), Stuck);
  runtime.wait();
  const std::string report = testing::internal::GetCapturedStderr();
  EXPECT_NE(report.find("'chooser' waits for the first of a Semaphore or Mutex, a Latch"), std::string::npos) << report;
  EXPECT_TRUE(told.load());
  units.release(3);
  EXPECT_TRUE(units.try_acquire(3));
}

TEST(SelectStuckTest, ALimitOfTimeIsHope) {
  Runtime runtime(Options{.workers = 1, .stuck_after = 10ms});
  Latch never(1);
  EXPECT_FALSE(runtime.spawn([&] { return never.wait_for(200ms); }).get());
  EXPECT_EQ(runtime
                .spawn([&] {
                  const Pipe pipe;
                  Semaphore none(0);
                  return select({none, Alternative::readable(pipe.reader())}, {.at_most = 200ms});
                })
                .get(),
            std::nullopt);
}

TEST(SelectStuckTest, ALongWaitIsReported) {
  const auto outcome = run_in_child(
      [] {
        Runtime runtime(Options{.workers = 1, .report_after = 50ms});
        const Pipe pipe;
        Latch latch(1);
        PollingService service(runtime, "mail", {}, [] { return std::size_t{0}; });
        PendingOperation letter = service.expect("a letter of rank 3");
        auto task = runtime.spawn({.label = "chooser"}, [&] {
          return select({latch, letter, Alternative::readable(pipe.reader())}, {.at_most = 1h}).value_or(9);
        });
        std::thread opener([&] {
          char byte = 0;
          while (read(STDIN_FILENO, &byte, 1) != 1) {
          }
          latch.count_down();
        });
        const std::size_t chosen = task.get();
        opener.join();
        return static_cast<int>(chosen);
      },
      "waiting for");
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_NE(outcome.error.find(
                "'chooser' waits for the first of a Latch, a letter of rank 3 (polling service 'mail'), descriptor"),
            std::string::npos)
      << outcome.error;
}

// The runtime goes as soon as its last task has completed, while the thread that waited for it is still on its way.
TEST(SelectForeignTest, ARuntimeMayEndBehindTheWait) {
  for (std::size_t round = 0; round < scaled(300, 50); ++round) {
    std::thread thread;
    {
      Runtime runtime(Options{.workers = 1});
      Latch started(1);
      auto future = runtime.spawn([&] { started.wait(); });
      thread = std::thread([mine = future] { EXPECT_EQ(wait_for_any({.at_most = 1h}, mine), 0U); });
      await([&] { return runtime.core().foreign.waiting.load() > 0; });  // a wait begins while the runtime is there
      started.count_down();
    }
    thread.join();
  }
}

// Tasks and threads choose at random among semaphores, futures and a moment of time, on any number of workers.
TEST(SelectRandomTest, ExactlyWhatWasChosenHasBeenTaken) {
  for (std::uint64_t round = 0; round < scaled(10, 3); ++round) {
    Random random(round);
    constexpr std::size_t kinds = 3;
    std::array<std::uint64_t, kinds> units{};
    std::vector<std::unique_ptr<Semaphore>> semaphores;
    std::array<std::atomic<std::uint64_t>, kinds> used{};
    for (auto& of_one : units) {
      of_one = random.between(1, 4);
      semaphores.push_back(std::make_unique<Semaphore>(of_one));
    }
    std::atomic<std::size_t> taken{0};
    std::atomic<std::size_t> in_vain{0};
    const std::size_t tasks = scaled(2000, 200);
    Runtime runtime(Options{.workers = static_cast<unsigned>(random.between(1, 4))});
    const auto choose = [&](std::uint64_t seed, const Future<void>& other) {
      Random own(seed);
      std::array<std::uint64_t, kinds> wanted{};
      std::vector<Alternative> alternatives;
      for (std::size_t i = 0; i < kinds; ++i) {
        wanted[i] = own.between(1, units[i]);
        alternatives.emplace_back(*semaphores[i], wanted[i]);
      }
      if (other.valid()) {
        alternatives.emplace_back(other);
      }
      WaitLimits limits;
      if (own.once_in(3)) {
        limits.at_most = std::chrono::microseconds(own.between(0, 50));
      }
      const auto chosen = select(alternatives, limits);
      if (!chosen || *chosen == kinds) {
        in_vain.fetch_add(1);
        return;
      }
      const std::size_t which = *chosen;
      EXPECT_LE(used[which].fetch_add(wanted[which]) + wanted[which], units[which]);
      if (this_task::active() && own.once_in(2)) {
        this_task::yield();
      }
      used[which].fetch_sub(wanted[which]);
      semaphores[which]->release(wanted[which]);
      taken.fetch_add(1);
    };
    std::thread thread([&] {
      for (std::uint64_t i = 0; i < tasks; ++i) {
        choose(round * 1'000'000 + 500'000 + i, {});
      }
    });
    Future<void> other;
    for (std::uint64_t i = 0; i < tasks; ++i) {
      other = runtime.spawn([&choose, round, i, other] { choose(round * 1'000'000 + i, other); });
    }
    thread.join();
    runtime.wait();
    EXPECT_EQ(taken.load() + in_vain.load(), 2 * tasks);
    EXPECT_GT(taken.load(), 0U);
    for (std::size_t i = 0; i < kinds; ++i) {
      EXPECT_EQ(semaphores[i]->available(), units[i]);
    }
  }
}

}  // namespace
}  // namespace dovetail::test
