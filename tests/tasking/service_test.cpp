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

// Operations that end when the service has been polled often enough, or when its descriptor is written to.
class Countdown final : public Service {
 public:
  explicit Countdown(bool by_descriptor) : descriptor_(by_descriptor ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1) {}
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
      if (waiting_ != nullptr && (descriptor_ >= 0 ? rung : --polls_left_ <= 0)) {
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
  nanoseconds poll_interval() const noexcept override {
    return descriptor_ >= 0 ? nanoseconds::max() : Service::poll_interval();
  }
  int descriptor() const noexcept override { return descriptor_; }
  bool ends_elsewhere() const noexcept override { return elsewhere.load(); }

  /// As messages do.
  std::atomic<bool> elsewhere{false};
  std::atomic<unsigned> flushes{0};

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
  const int descriptor_;
  std::mutex mutex_;
  Task* waiting_ = nullptr;
  int polls_left_ = 0;
  std::atomic<std::size_t> in_flight_{0};
};

// The services of the runtime that was made last.
Countdown* by_the_clock = nullptr;
Countdown* by_descriptor = nullptr;
const bool registered = register_service(&by_the_clock,
                                         [](detail::RuntimeCore&, const Options&, unsigned) {
                                           auto made = std::make_unique<Countdown>(false);
                                           by_the_clock = made.get();
                                           return made;
                                         }) &&
                        register_service(&by_descriptor, [](detail::RuntimeCore&, const Options&, unsigned) {
                          auto made = std::make_unique<Countdown>(true);
                          by_descriptor = made.get();
                          return made;
                        });

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
  auto task = runtime.spawn([] { by_descriptor->start(0); });
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
      by_descriptor->start(0);
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
  auto task = runtime.spawn([] { by_descriptor->start(0); });
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
