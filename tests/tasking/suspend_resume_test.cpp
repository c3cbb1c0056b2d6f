// Pausing a task and letting it go on: races of both, exceptions across a pause, many paused tasks.
#include "fiber/stack_pool.hpp"
#include "support.hpp"

namespace dovetail::test {
namespace {

TEST(SuspendResumeTest, ResumeBeforeSuspend) {
  Runtime runtime(Options{.workers = 1});
  runtime
      .spawn([] {
        const TaskHandle self = this_task::handle();
        self.resume();
        self.resume();
        this_task::suspend();  // once: twice before a suspend counts once
      })
      .get();
}

TEST(SuspendResumeTest, TwoResumesBeforeASuspendCountOnce) {
  Runtime runtime(Options{.workers = 2});
  std::atomic<int> step{0};
  TaskHandle handle;
  auto future = runtime.spawn([&] {
    handle = this_task::handle();
    handle.resume();
    handle.resume();
    this_task::suspend();
    step.store(1);
    this_task::suspend();
    step.store(2);
  });
  await([&] { return step.load() == 1; });
  runtime.spawn([] {}).get();
  EXPECT_EQ(step.load(), 1);
  handle.resume();
  future.get();
  EXPECT_EQ(step.load(), 2);
}

TEST(SuspendResumeTest, HandlesOfNothingAndOfWhatHasCompleted) {
  TaskHandle none;
  EXPECT_FALSE(none);
  none.resume();
  TaskHandle handle;
  {
    Runtime runtime(Options{.workers = 1});
    runtime.spawn([&] { handle = this_task::handle(); }).get();
    handle.resume();
    const TaskHandle copy = handle;
    TaskHandle moved = std::move(handle);
    EXPECT_FALSE(handle);  // NOLINT(bugprone-use-after-move): what moving leaves is documented
    handle = copy;
    EXPECT_TRUE(moved);
    moved.resume();
  }
  handle.resume();
}

TEST(SuspendResumeTest, ForeignThreadsResumeAtAnyMoment) {
  for (unsigned workers = 1; workers <= 3; ++workers) {
    Runtime runtime(Options{.workers = workers});
    const int rounds = static_cast<int>(scaled(20'000, 2'000));
    TaskHandle handle;
    std::atomic<int> turn{0};
    std::atomic<bool> known{false};
    auto future = runtime.spawn([&] {
      handle = this_task::handle();
      known.store(true);
      Random random(1);
      for (int i = 1; i <= rounds; ++i) {
        turn.store(i);
        stumble(random);
        this_task::suspend();
      }
    });
    std::thread outside([&] {
      Random random(2);
      await([&] { return known.load(); });
      for (int i = 1; i <= rounds; ++i) {
        await([&] { return turn.load() >= i; });
        stumble(random);
        handle.resume();
      }
    });
    future.get();
    outside.join();
  }
}

TEST(SuspendResumeTest, PingPong) {
  for (unsigned workers = 1; workers <= 4; ++workers) {
    Runtime runtime(Options{.workers = workers});
    const int rounds = static_cast<int>(scaled(100'000, 5'000));
    TaskHandle handles[2];
    std::atomic<int> ready{0};
    int ball = 0;  // plain: handed over by resume
    auto player = [&](int self) {
      handles[self] = this_task::handle();
      ready.fetch_add(1);
      await_in_task([&] { return ready.load() == 2; });
      for (int i = 0; i < rounds; ++i) {
        if (self == 1 || i > 0) {
          this_task::suspend();
        }
        ASSERT_EQ(ball, 2 * i + self);
        ++ball;
        handles[1 - self].resume();
      }
    };
    runtime.spawn([&] { player(0); });
    runtime.spawn([&] { player(1); });
    runtime.wait();
    EXPECT_EQ(ball, 2 * rounds);
  }
}

TEST(SuspendResumeTest, ManyPairs) {
  for (std::uint64_t round = 0; round < scaled(5, 2); ++round) {
    Random choice(round);
    Runtime runtime(Options{.workers = static_cast<unsigned>(choice.between(2, 8))});
    constexpr std::size_t count = 50;
    std::vector<TaskHandle> handles(count);
    std::atomic<std::size_t> ready{0};
    const int rounds = static_cast<int>(scaled(1'000, 100));
    for (std::size_t i = 0; i < count; ++i) {
      runtime.spawn([&, i] {
        handles[i] = this_task::handle();
        ready.fetch_add(1);
        await_in_task([&] { return ready.load() == count; });
        Random random(i);
        // A ring: each is resumed by the one before it, as often as it suspends.
        for (int k = 0; k < rounds; ++k) {
          if (i > 0) {
            this_task::suspend();
          }
          stumble(random);
          if (i + 1 < count) {
            handles[i + 1].resume();
            // A second resume before the next suspend would count once: wait for the neighbour's turn by yielding.
            this_task::yield();
          }
          if (i == 0) {
            this_task::suspend();
          } else if (i + 1 == count) {
            handles[0].resume();
          }
        }
      });
    }
    runtime.wait();
  }
}

TEST(SuspendResumeTest, WhatWasWrittenBeforeAResumeIsSeenAfterTheSuspend) {
  Runtime runtime(Options{.workers = 2});
  for (int i = 0; i < static_cast<int>(scaled(5'000, 500)); ++i) {
    int plain = 0;
    runtime.spawn([&] {
      TaskHandle self = this_task::handle();
      runtime.spawn([&plain, self = std::move(self)] {
        plain = 1;
        self.resume();
      });
      this_task::suspend();
      EXPECT_EQ(plain, 1);
    });
    runtime.wait();
  }
}

TEST(SuspendResumeTest, PauseInACatchBlock) {
  // The exception being handled belongs to the task, wherever it goes on.
  Runtime runtime(Options{.workers = 3});
  const int count = static_cast<int>(scaled(2'000, 300));
  std::atomic<int> right{0};
  for (int i = 0; i < count; ++i) {
    runtime.spawn([&right, i] {
      Random random(static_cast<std::uint64_t>(i));
      try {
        try {
          throw std::runtime_error("outer " + std::to_string(i));
        } catch (...) {
          try {
            this_task::yield();
            throw std::runtime_error("inner " + std::to_string(i));
          } catch (const std::exception& inner) {
            this_task::wait_for(std::chrono::microseconds(random.between(1, 50)));
            right.fetch_add(inner.what() == "inner " + std::to_string(i) ? 1 : 0);
          }
          this_task::yield();
          throw;
        }
      } catch (const std::exception& outer) {
        right.fetch_add(outer.what() == "outer " + std::to_string(i) ? 1 : 0);
      }
      right.fetch_add(std::current_exception() == nullptr && std::uncaught_exceptions() == 0 ? 1 : 0);
    });
  }
  runtime.wait();
  EXPECT_EQ(right.load(), 3 * count);
}

struct PausesWhenDestroyed {
  std::atomic<int>& seen;
  ~PausesWhenDestroyed() {
    for (int i = 0; i < 3; ++i) {
      this_task::yield();
      seen.fetch_add(std::uncaught_exceptions() == 1 ? 1 : 0);
    }
  }
};

TEST(SuspendResumeTest, PauseWhileTheStackUnwinds) {
  Runtime runtime(Options{.workers = 3});
  std::atomic<int> seen{0};
  std::atomic<int> caught{0};
  const int count = static_cast<int>(scaled(1'000, 200));
  for (int i = 0; i < count; ++i) {
    runtime.spawn([&, i] {
      try {
        const PausesWhenDestroyed pauses{seen};
        throw i;
      } catch (int number) {
        caught.fetch_add(number == i ? 1 : 0);
      }
    });
  }
  runtime.wait();
  EXPECT_EQ(seen.load(), 3 * count);
  EXPECT_EQ(caught.load(), count);
}

// `count` tasks pause, `meanwhile` is called, and all of them go on.
template <class Meanwhile>
void pause_at_once(Runtime& runtime, std::size_t count, const Meanwhile& meanwhile) {
  std::vector<TaskHandle> handles(count);
  std::atomic<std::size_t> paused{0};
  std::atomic<std::size_t> ended{0};
  for (std::size_t i = 0; i < count; ++i) {
    runtime.spawn([&, i] {
      handles[i] = this_task::handle();
      paused.fetch_add(1);
      this_task::suspend();
      ended.fetch_add(1);
    });
  }
  await([&] { return paused.load() == count; });
  EXPECT_EQ(ended.load(), 0U);
  meanwhile();
  for (const TaskHandle& handle : handles) {
    handle.resume();
  }
  runtime.wait();
  EXPECT_EQ(ended.load(), count);
}

TEST(SuspendResumeTest, TenThousandPausedTasksNeedNoThreads) {
  Runtime runtime(Options{.workers = 2, .stack_size = 16 * 1024, .pending_limit = 1'000'000});
  const std::size_t threads = count_threads();
  pause_at_once(runtime, scaled(10'000, 1'000), [&] { EXPECT_EQ(count_threads(), threads); });
}

// With the stacks that every program gets, also on kernels where a guard takes mappings, of which a process has 65530.
TEST(SuspendResumeTest, AHundredThousandPausedTasksFit) {
  for (const bool guards_without_mapping : {true, false}) {
    fiber::StackPool::guards_without_mapping = guards_without_mapping;
    Runtime runtime(Options{.workers = 2, .pending_limit = 1'000'000});
    pause_at_once(runtime, scaled(100'000, 1'000), [] {});
  }
  fiber::StackPool::guards_without_mapping = true;
}

TEST(SuspendResumeTest, ValuesOnTheStackSurvive) {
  Runtime runtime(Options{.workers = 4});
  std::atomic<int> wrong{0};
  for (int i = 0; i < 200; ++i) {
    runtime.spawn([&wrong, i] {
      double numbers[500];
      for (int k = 0; k < 500; ++k) {
        numbers[k] = i * 1000.0 + k;
      }
      for (int round = 0; round < 20; ++round) {
        this_task::yield();
        for (int k = 0; k < 500; ++k) {
          wrong.fetch_add(numbers[k] == i * 1000.0 + k ? 0 : 1);
        }
      }
    });
  }
  runtime.wait();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(SuspendResumeTest, YieldLetsOthersRunFirst) {
  Runtime runtime(Options{.workers = 1});
  std::vector<int> order;
  runtime
      .spawn([&] {
        for (int i = 0; i < 5; ++i) {
          runtime.spawn([&order, i] { order.push_back(i); });
        }
        this_task::yield();
        order.push_back(100);
      })
      .get();
  ASSERT_EQ(order.size(), 6U);
  EXPECT_EQ(order.back(), 100);
}

TEST(SuspendResumeTest, TheRuntimeMayEndRightAfterAResume) {
  for (std::size_t round = 0; round < scaled(1'000, 200); ++round) {
    std::thread outside;
    {
      Runtime runtime(Options{.workers = 1 + static_cast<unsigned>(round % 2)});
      const auto kind = round % 5;
      runtime.spawn({.priority = kind == 1   ? 1
                                 : kind == 2 ? -1
                                             : 0,
                     .io = kind == 3,
                     .tied = kind == 4},
                    [&] {
                      TaskHandle self = this_task::handle();
                      outside = std::thread([self = std::move(self)] { self.resume(); });
                      this_task::suspend();
                    });
      runtime.wait();
    }
    outside.join();
  }
}

}  // namespace
}  // namespace dovetail::test
