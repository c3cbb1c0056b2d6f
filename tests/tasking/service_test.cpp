// A service made as CONTRIBUTING.md says: it says what is in flight, and is polled for as long as that is something.
#include "tasking/service.hpp"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <memory>

#include "support.hpp"
#include "tasking/core.hpp"
#include "tasking/pause.hpp"

namespace dovetail::tasking {
namespace {

using std::chrono::nanoseconds;

// Operations that end when the service has been polled often enough, if it is polled by the clock, or when its descriptor is written to.
class Countdown final : public Service {
 public:
  Countdown(bool has_descriptor, nanoseconds interval)
      : interval_(interval), descriptor_(has_descriptor ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1) {}
  ~Countdown() override {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }
  Countdown(const Countdown&) = delete;
  Countdown& operator=(const Countdown&) = delete;

  unsigned poll(unsigned /*worker*/, PollScope /*scope*/) override {
    Task* ended = nullptr;
    {
      const std::lock_guard lock(mutex_);
      std::uint64_t bells = 0;
      const bool rung = descriptor_ >= 0 && read(descriptor_, &bells, sizeof bells) == sizeof bells;
      const bool by_the_clock = interval_ != nanoseconds::max();
      if (waiting_ != nullptr && (rung || (by_the_clock && --polls_left_ <= 0))) {
        ended = std::exchange(waiting_, nullptr);
      }
    }
    if (ended == nullptr) {
      return 0;
    }
    in_flight_.store(
        0);  // before the event: the program may start the next operation as soon as the event is fulfilled
    fulfill_event(ended);
    return 1;
  }
  void flush(unsigned /*worker*/) override { ++flushes; }
  std::size_t in_flight() const noexcept override { return in_flight_.load(); }
  nanoseconds poll_interval() const noexcept override { return interval_; }
  int descriptor() const noexcept override { return descriptor_; }
  bool ends_elsewhere() const noexcept override { return elsewhere.load(); }

  /// As messages do.
  std::atomic<bool> elsewhere{false};
  std::atomic<unsigned> flushes{0};

  static constexpr int only_by_ring = 2'000'000'000;
  /// Binds the current task to an operation that ends after so many polls.
  void start(int polls) {
    const std::lock_guard lock(mutex_);
    in_flight_.store(1);
    waiting_ = bind_event();
    polls_left_ = polls;
  }
  void ring() const {
    const std::uint64_t one = 1;
    EXPECT_EQ(write(descriptor_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }

 private:
  const nanoseconds interval_;
  const int descriptor_;
  std::mutex mutex_;
  Task* waiting_ = nullptr;
  int polls_left_ = 0;
  std::atomic<std::size_t> in_flight_{0};
};

// The services of the runtime that was made last.
Countdown* by_the_clock = nullptr;
Countdown* by_descriptor = nullptr;
Countdown* by_both = nullptr;
bool register_countdown(Countdown*& last, bool has_descriptor, nanoseconds interval) {
  return register_service(&last, [&last, has_descriptor, interval](detail::RuntimeCore&, const Options&, unsigned) {
    auto made = std::make_unique<Countdown>(has_descriptor, interval);
    last = made.get();
    return made;
  });
}
const bool registered = register_countdown(by_the_clock, false, std::chrono::microseconds(500)) &&
                        register_countdown(by_descriptor, true, nanoseconds::max()) &&
                        register_countdown(by_both, true, std::chrono::milliseconds(20));

TEST(ServiceTest, IsPolledWhileEverybodySleeps) {
  ASSERT_TRUE(registered);
  Runtime runtime(Options{.workers = 2});
  auto task = runtime.spawn([] { by_the_clock->start(50); });
  task.get();
}

TEST(ServiceTest, IsPolledWhileAllWorkersCompute) {
  Runtime runtime(Options{.workers = 1});
  std::atomic<bool> completed{false};
  auto task = runtime.spawn([] { by_the_clock->start(50); });
  runtime.spawn([&] {
    while (!completed.load()) {
    }
  });
  task.get();
  completed = true;
  runtime.wait();
}

TEST(ServiceTest, WhatEndsElsewhereIsCountedApart) {
  Runtime runtime(Options{.workers = 1});
  by_descriptor->elsewhere = true;
  auto task = runtime.spawn([] { by_descriptor->start(Countdown::only_by_ring); });
  test::await([&] { return runtime.core().in_flight() == 1; });
  EXPECT_EQ(runtime.core().in_flight_elsewhere(), 1U);
  by_descriptor->elsewhere = false;
  EXPECT_EQ(runtime.core().in_flight_elsewhere(), 0U);
  by_descriptor->ring();
  task.get();
}

TEST(ServiceTest, ADescriptorEndsTheSleep) {
  Runtime runtime(Options{.workers = 2});
  for (int i = 0; i < 10; ++i) {
    std::atomic<bool> started{false};
    auto task = runtime.spawn([&] {
      by_descriptor->start(Countdown::only_by_ring);
      started = true;
    });
    test::await([&] { return started.load(); });
    by_descriptor->ring();
    task.get();
  }
}

// The only worker rings and then computes until the task that waits for it has completed.
void ring_and_compute(Runtime& runtime) {
  std::atomic<bool> completed{false};
  auto task = runtime.spawn([] { by_descriptor->start(Countdown::only_by_ring); });
  runtime.spawn([&] {
    by_descriptor->ring();
    while (!completed.load()) {
    }
  });
  task.get();
  completed = true;
  runtime.wait();
}

TEST(ServiceTest, IsPolledByTheClockWhereItsDescriptorCannotBeWatched) {
  Runtime runtime(Options{.workers = 1});
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  ring_and_compute(runtime);
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(ServiceTest, ADescriptorIsWatchedWhileAllWorkersCompute) {
  Runtime runtime(Options{.workers = 1});
  for (int i = 0; i < 3; ++i) {
    ring_and_compute(runtime);
  }
}

// The descriptor ends an operation long before the clock would have been looked at; the next one has nothing but the clock.
TEST(ServiceTest, IsPolledByTheClockAfterItsDescriptorHasEndedAll) {
  Runtime runtime(Options{.workers = 1});
  for (int i = 0; i < 3; ++i) {
    auto rung = runtime.spawn([] { by_both->start(Countdown::only_by_ring); });
    test::await([&] { return runtime.core().in_flight() == 1; });
    by_both->ring();
    rung.get();
    runtime.spawn([] { by_both->start(3); }).get();
  }
}

// Operations gather for as long as the tasks are short; a flush for each task would be a system call for each.
TEST(ServiceTest, IsFlushedOnceForManyShortTasks) {
  constexpr unsigned tasks = 6400;
  Runtime runtime(Options{.workers = 1});
  unsigned flushes = 0;
  runtime
      .spawn([&] {
        flushes = by_the_clock->flushes;
        for (unsigned i = 0; i < tasks; ++i) {
          spawn([] { request_flush(); });
        }
        wait();
        flushes = by_the_clock->flushes - flushes;
      })
      .get();
  EXPECT_GE(flushes, 1U);
  EXPECT_LE(flushes, tasks / 8) << "64 tasks without a flush, save where one took long";
}

}  // namespace
}  // namespace dovetail::tasking
