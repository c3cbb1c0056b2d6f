// Threads that are not workers: they spawn, wait and cancel at the same time.
#include "support.hpp"
#include "tasking/waiting.hpp"

namespace dovetail::test {
namespace {

TEST(ForeignThreadsTest, SpawnFromMany) {
  Runtime runtime(Options{.workers = 2});
  const std::size_t each = scaled(20'000, 1'000);
  std::atomic<std::size_t> ran{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < each; ++i) {
        runtime.spawn([&] { ran.fetch_add(1); });
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  runtime.wait();
  EXPECT_EQ(ran.load(), 8 * each);
}

TEST(ForeignThreadsTest, EachOrdersItsOwnData) {
  Runtime runtime(Options{.workers = 3});
  const std::size_t each = scaled(5'000, 500);
  std::atomic<int> wrong{0};
  long shared = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      std::size_t own = 0;
      for (std::size_t i = 0; i < each; ++i) {
        runtime.spawn({.access = {inout(own)}}, [&, i] { wrong.fetch_add(own++ == i ? 0 : 1); });
        runtime.spawn({.access = {inout(shared)}}, [&] { ++shared; });
      }
      runtime.spawn({.access = {in(own)}}, [&] { wrong.fetch_add(own == each ? 0 : 1); }).get();
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  runtime.wait();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(shared, static_cast<long>(6 * each));
}

TEST(ForeignThreadsTest, WaitFromMany) {
  Runtime runtime(Options{.workers = 2});
  for (int round = 0; round < static_cast<int>(scaled(200, 50)); ++round) {
    std::atomic<int> ran{0};
    for (int i = 0; i < 20; ++i) {
      runtime.spawn([&] { ran.fetch_add(1); });
    }
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        runtime.wait();
        EXPECT_EQ(ran.load(), 20);
      });
    }
    for (auto& thread : threads) {
      thread.join();
    }
  }
}

TEST(ForeignThreadsTest, EachFailureIsReportedOnceThoughManyWait) {
  Runtime runtime(Options{.workers = 2});
  constexpr int failures = 50;
  for (int i = 0; i < failures; ++i) {
    runtime.spawn([] { throw std::runtime_error("each once"); });
  }
  std::atomic<int> reported{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (failure_of([&] { runtime.wait(); })) {
        reported.fetch_add(1);
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(reported.load(), failures);
}

TEST(ForeignThreadsTest, ThreadsThatComeAndGo) {
  // Each leaves the memory that it freed to others.
  Runtime runtime(Options{.workers = 2});
  std::atomic<int> ran{0};
  const int rounds = static_cast<int>(scaled(300, 60));
  for (int t = 0; t < rounds; ++t) {
    std::thread([&] {
      std::vector<Future<int>> futures;
      for (int i = 0; i < 100; ++i) {
        futures.push_back(runtime.spawn([&, i] {
          ran.fetch_add(1);
          return i;
        }));
      }
      for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(futures[static_cast<std::size_t>(i)].get(), i);
      }
    }).join();
  }
  EXPECT_EQ(ran.load(), rounds * 100);
}

TEST(ForeignThreadsTest, FuturesThatAreDroppedElsewhere) {
  Runtime runtime(Options{.workers = 2});
  for (int round = 0; round < static_cast<int>(scaled(500, 100)); ++round) {
    auto future = runtime.spawn([] { return std::vector<int>(100, 4); });
    std::thread other([copy = future] {});
    future = {};
    other.join();
  }
  runtime.wait();
}

// What a look of a waiting thread works on, which is a plain function.
struct Interrupt {
  Runtime* runtime = nullptr;
  std::latch* gate = nullptr;
  bool finish_first = false;
};
Interrupt interrupt;

bool interrupt_the_wait() {
  tasking::set_interrupt_look(nullptr);
  if (interrupt.finish_first) {
    interrupt.gate->count_down();
    std::thread([] { interrupt.runtime->wait(); }).join();
  }
  return true;
}

class InterruptedWaitTest : public testing::TestWithParam<bool> {};

TEST_P(InterruptedWaitTest, IsToldThoughWhatItWaitsForEndsMeanwhile) {
  Runtime runtime(Options{.workers = 2});
  std::latch gate(1);
  interrupt = {.runtime = &runtime, .gate = &gate, .finish_first = GetParam()};
  auto future = runtime.spawn([&] {
    gate.wait();
    return 7;
  });
  tasking::set_interrupt_look(&interrupt_the_wait);
  EXPECT_THROW(runtime.wait(), tasking::WaitInterrupted);
  if (!interrupt.finish_first) {
    EXPECT_FALSE(future.ready());
    gate.count_down();
  }
  EXPECT_EQ(future.get(), 7);
}

INSTANTIATE_TEST_SUITE_P(ForeignThreads, InterruptedWaitTest, testing::Bool());

}  // namespace
}  // namespace dovetail::test
