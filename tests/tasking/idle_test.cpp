// A runtime with nothing to do uses no processor time, whatever it waits for.
#include <sys/resource.h>

#include "support.hpp"

namespace dovetail::test {
namespace {

using std::chrono::milliseconds;

std::chrono::microseconds processor_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  auto sum = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return sum(usage.ru_utime) + sum(usage.ru_stime);
}

// What the process uses while it waits in the kernel for a while that another thread ends.
template <class Release>
std::chrono::microseconds time_used_over_an_interval(Runtime& runtime, Release&& release) {
  std::mutex mutex;
  std::condition_variable over;
  bool is_over = false;
  // Whatever the start of the runtime has left to do is done first.
  runtime.spawn([] { this_task::wait_for(milliseconds(20)); }).wait();
  const auto before = processor_time();
  std::thread outside([&] {
    std::unique_lock lock(mutex);
    over.wait_for(lock, milliseconds(400), [] { return false; });  // the interval, in the kernel
    is_over = true;
    over.notify_all();
  });
  {
    std::unique_lock lock(mutex);
    over.wait(lock, [&] { return is_over; });
  }
  const auto used = processor_time() - before;
  outside.join();
  release();
  return used;
}

// A worker that spun would use 400 ms; what is found is some microseconds.
constexpr milliseconds bound{100};

TEST(IdleTest, NothingToDo) {
  Runtime runtime(Options{.workers = 2});
  EXPECT_LT(time_used_over_an_interval(runtime, [] {}), bound);
}

TEST(IdleTest, WaitingForAResumeAndForAnEvent) {
  Runtime runtime(Options{.workers = 2, .stuck_after = milliseconds(0)});
  TaskHandle handle;
  Events* events = nullptr;
  std::atomic<int> begun{0};
  runtime.spawn([&] {
    handle = this_task::handle();
    begun.fetch_add(1);
    this_task::suspend();
  });
  runtime.spawn([&] {
    events = &this_task::events();
    events->add();
    begun.fetch_add(1);
  });
  await([&] { return begun.load() == 2; });
  std::thread waiter([&] { runtime.wait(); });
  EXPECT_LT(time_used_over_an_interval(runtime,
                                       [&] {
                                         handle.resume();
                                         events->fulfill();
                                       }),
            bound);
  waiter.join();
}

// After a stuck report the runtime waits a second for tasks that could be told to end, and this one cannot.
TEST(IdleTest, ATaskThatAStuckReportDoesNotEnd) {
  Runtime runtime(Options{.workers = 2, .stuck_after = milliseconds(10)});
  Events* events = nullptr;
  runtime.spawn([&] {
    events = &this_task::events();
    events->add();
  });
  const auto before = processor_time();
  EXPECT_THROW(runtime.wait(), Stuck);
  EXPECT_LT(processor_time() - before, bound);
  events->fulfill();
  runtime.wait();
}

TEST(IdleTest, ALongTimer) {
  Runtime runtime(Options{.workers = 3});
  std::atomic<bool> over{false};
  runtime.spawn([&] {
    while (!over.load()) {
      this_task::wait_for(milliseconds(50));
    }
  });
  EXPECT_LT(time_used_over_an_interval(runtime, [&] { over.store(true); }), bound);
  runtime.wait();
}

TEST(IdleTest, ABlockedIoTaskAndASpawnerHeldBack) {
  Runtime runtime(Options{.workers = 2, .pending_limit = 64});
  Gate gate;
  int data = 0;
  std::atomic<bool> all{false};
  runtime.spawn({.access = {out(data)}, .io = true}, [&] { gate.pass(); });
  runtime.spawn([&] {
    for (int i = 0; i < 200; ++i) {
      runtime.spawn({.access = {in(data)}}, [] {});
    }
    all.store(true);
  });
  EXPECT_LT(time_used_over_an_interval(runtime, [&] { gate.open(); }), bound);
  runtime.wait();
  EXPECT_TRUE(all.load());
}

}  // namespace
}  // namespace dovetail::test
