// I/O tasks: they may block, on threads that are not compute workers.
#include "support.hpp"

namespace dovetail::test {
namespace {

TEST(IoTaskTest, RunOnOtherThreadsThanWorkers) {
  Runtime runtime(Options{.workers = 1});
  const auto worker = runtime.spawn([] { return std::this_thread::get_id(); }).get();
  for (int i = 0; i < 50; ++i) {
    auto executor = runtime.spawn({.io = true}, [] { return std::this_thread::get_id(); }).get();
    EXPECT_NE(executor, worker);
    EXPECT_NE(executor, std::this_thread::get_id());
  }
}

TEST(IoTaskTest, SpawnedByATask) {
  Runtime runtime(Options{.workers = 1});
  const bool same = runtime
                        .spawn([] {
                          const auto worker = std::this_thread::get_id();
                          return spawn({.io = true}, [] { return std::this_thread::get_id(); }).get() == worker;
                        })
                        .get();
  EXPECT_FALSE(same);
}

TEST(IoTaskTest, DoNotBlockWorkers) {
  // As many as there may be block at once, until a compute task has run on the only worker.
  Runtime runtime(Options{.workers = 1, .io_executors = 8});
  std::latch all(8);
  Gate gate;
  for (int i = 0; i < 8; ++i) {
    runtime.spawn({.io = true}, [&] {
      all.arrive_and_wait();
      gate.pass();
    });
  }
  all.wait();
  runtime.spawn([&] { gate.open(); });
  runtime.wait();
}

TEST(IoTaskTest, NoMoreAtOnceThanTheLimit) {
  Runtime runtime(Options{.workers = 2, .io_executors = 3});
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  for (int i = 0; i < 500; ++i) {
    runtime.spawn({.io = true}, [&] {
      const int running = now.fetch_add(1) + 1;
      int seen = most.load();
      while (running > seen && !most.compare_exchange_weak(seen, running)) {
      }
      std::this_thread::yield();
      now.fetch_sub(1);
    });
  }
  runtime.wait();
  EXPECT_LE(most.load(), 3);
}

TEST(IoTaskTest, DependenciesChildrenEventsAndFailures) {
  Runtime runtime(Options{.workers = 2});
  for (int round = 0; round < 100; ++round) {
    int data = 0;
    std::thread outside;
    runtime.spawn({.access = {out(data)}, .io = true}, [&] { data = 1; });
    runtime.spawn({.access = {inout(data)}}, [&] { data += 2; });
    runtime.spawn({.access = {inout(data)}, .io = true}, [&] {
      EXPECT_TRUE(this_task::active());
      EXPECT_EQ(spawn([&] { return data + 4; }).get(), 7);
      EXPECT_EQ(spawn({.io = true}, [&] { return data + 5; }).get(), 8);
      spawn({.io = true}, [&] { data += 8; });
      wait();
      Events& events = this_task::events();
      events.add();
      outside = std::thread([&] {
        data += 16;
        events.fulfill();
      });
    });
    EXPECT_EQ(runtime.spawn({.access = {in(data)}, .io = true}, [&] { return data; }).get(), 27);
    outside.join();
  }
  auto future = runtime.spawn({.label = "io", .io = true}, [] { throw std::runtime_error("in an I/O task"); });
  const auto failed = failure_of([&] { future.get(); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(innermost(*failed), "in an I/O task");
}

TEST(IoTaskTest, SuspendBlocksTheirThreadOnly) {
  Runtime runtime(Options{.workers = 1});
  for (int i = 0; i < 200; ++i) {
    auto future = runtime.spawn({.io = true}, [&] {
      const auto here = std::this_thread::get_id();
      TaskHandle self = this_task::handle();
      runtime.spawn([self = std::move(self)] { self.resume(); });
      this_task::suspend();
      this_task::yield();
      return here == std::this_thread::get_id();
    });
    EXPECT_TRUE(future.get());
  }
}

TEST(IoTaskTest, WaitingForOthersDoesNotUseUpTheLimit) {
  Runtime runtime(Options{.workers = 1, .io_executors = 1});
  std::function<int(int)> descend = [&](int levels) {
    return levels == 0 ? 1 : spawn({.io = true}, [&, levels] { return descend(levels - 1); }).get() + 1;
  };
  EXPECT_EQ(runtime.spawn({.io = true}, [&] { return descend(20); }).get(), 21);
}

TEST(IoTaskTest, ManyMoreThanThreads) {
  Runtime runtime(Options{.workers = 2, .io_executors = 4});
  std::atomic<int> done{0};
  const int count = static_cast<int>(scaled(20'000, 2'000));
  for (int i = 0; i < count; ++i) {
    runtime.spawn({.io = true}, [&] { done.fetch_add(1); });
  }
  runtime.wait();
  EXPECT_EQ(done.load(), count);
  EXPECT_LE(count_threads(), 1U + 2 + 1 + 4 + 1) << "and one that a sanitizer may have";
}

}  // namespace
}  // namespace dovetail::test
