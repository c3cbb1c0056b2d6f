// Polling services: called while something is pending, at a rate within bounds, and not otherwise.
#include "support.hpp"

namespace dovetail::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// Operations that end when the service has been asked a number of times.
class Device {
 public:
  void start(Events& events, int polls) {
    const std::lock_guard lock(mutex_);
    operations_.push_back({&events, polls});
  }
  std::size_t poll() {
    polls_.fetch_add(1);
    std::vector<Events*> ended;
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(operations_, [&](Operation& operation) {
        if (--operation.polls > 0) {
          return false;
        }
        ended.push_back(operation.events);
        return true;
      });
    }
    for (Events* events : ended) {
      events->fulfill();
    }
    return ended.size();
  }
  std::size_t polls() const { return polls_.load(); }

 private:
  struct Operation {
    Events* events;
    int polls;
  };
  std::mutex mutex_;
  std::vector<Operation> operations_;
  std::atomic<std::size_t> polls_{0};
};

TEST(PollingTest, CompletesWhatIsPending) {
  for (unsigned workers = 1; workers <= 3; ++workers) {
    Runtime runtime(Options{.workers = workers});
    Device device;
    PollingService service(runtime, "device", {microseconds(1), microseconds(50)}, [&] { return device.poll(); });
    const int count = static_cast<int>(scaled(1'000, 200));
    std::atomic<int> done{0};
    for (int i = 0; i < count; ++i) {
      int* place = new int(0);
      runtime.spawn({.access = {out(*place)}}, [&, i, place] {
        this_task::events().add();
        device.start(this_task::events(), 1 + i % 5);
        service.add_pending();
        *place = i;
      });
      runtime.spawn({.access = {in(*place)}}, [&, i, place] {
        done.fetch_add(*place == i ? 1 : 0);
        delete place;
      });
    }
    runtime.wait();
    EXPECT_EQ(done.load(), count);
    // The last poll may not have returned yet.
    await([&] { return service.pending() == 0; });
  }
}

TEST(PollingTest, NotCalledWhileNothingIsPending) {
  Runtime runtime(Options{.workers = 2});
  Device device;
  PollingService service(runtime, "device", {microseconds(1), microseconds(1)}, [&] { return device.poll(); });
  for (int i = 0; i < 1'000; ++i) {
    runtime.spawn([] { this_task::wait_for(microseconds(1)); });
  }
  runtime.wait();
  EXPECT_EQ(device.polls(), 0U);
  runtime.spawn([&] {
    this_task::events().add();
    device.start(this_task::events(), 3);
    service.add_pending();
  });
  runtime.wait();
  EXPECT_EQ(device.polls(), 3U);
  for (int i = 0; i < 1'000; ++i) {
    runtime.spawn([] { this_task::wait_for(microseconds(1)); });
  }
  runtime.wait();
  EXPECT_EQ(device.polls(), 3U);
}

TEST(PollingTest, TheIntervalStaysWithinItsBounds) {
  Runtime runtime(Options{.workers = 2});
  const PollingRate rate{microseconds(3), microseconds(70)};
  std::atomic<nanoseconds::rep> least{nanoseconds::max().count()};
  std::atomic<nanoseconds::rep> most{0};
  Device device;
  PollingService* self = nullptr;
  PollingService service(runtime, "device", rate, [&] {
    const auto now = self->interval().count();
    least.store(std::min(least.load(), now));
    most.store(std::max(most.load(), now));
    return device.poll();
  });
  self = &service;
  EXPECT_EQ(service.interval(), rate.shortest);
  auto run = [&](int polls) {
    runtime.spawn([&, polls] {
      this_task::events().add();
      device.start(this_task::events(), polls);
      service.add_pending();
    });
    runtime.wait();
  };
  run(100);  // in vain for long: the interval grows to its longest
  EXPECT_EQ(least.load(), nanoseconds(rate.shortest).count());
  EXPECT_EQ(most.load(), nanoseconds(rate.longest).count());
  // What begins after a rest begins fast.
  await([&] { return service.pending() == 0; });
  most.store(0);
  run(1);
  EXPECT_EQ(most.load(), nanoseconds(rate.shortest).count());
  EXPECT_GE(service.interval(), rate.shortest);
  EXPECT_LE(service.interval(), rate.longest);
}

TEST(PollingTest, EqualBoundsFixTheRate) {
  Runtime runtime(Options{.workers = 1});
  Device device;
  std::atomic<int> different{0};
  PollingService* self = nullptr;
  PollingService service(runtime, "device", {microseconds(20), microseconds(20)}, [&] {
    different.fetch_add(self->interval() == microseconds(20) ? 0 : 1);
    return device.poll();
  });
  self = &service;
  runtime.spawn([&] {
    this_task::events().add();
    device.start(this_task::events(), 50);
    service.add_pending();
  });
  runtime.wait();
  EXPECT_EQ(different.load(), 0);
}

TEST(PollingTest, NotFasterThanTheShortestInterval) {
  // The other bound depends on the machine; this one does not.
  Runtime runtime(Options{.workers = 2});
  Device device;
  PollingService service(runtime, "device", {milliseconds(2), milliseconds(2)}, [&] { return device.poll(); });
  const auto begin = std::chrono::steady_clock::now();
  runtime.spawn([&] {
    this_task::events().add();
    device.start(this_task::events(), 20);
    service.add_pending();
  });
  runtime.wait();
  EXPECT_GE(std::chrono::steady_clock::now() - begin, milliseconds(40));
}

TEST(PollingTest, OneCallAtATimeAndOutsideOfTasks) {
  Runtime runtime(Options{.workers = 4});
  Device device;
  std::atomic<int> inside{0};
  std::atomic<int> wrong{0};
  PollingService service(runtime, "device", {nanoseconds(100), nanoseconds(200)}, [&] {
    wrong.fetch_add(inside.fetch_add(1) == 0 && !this_task::active() ? 0 : 1);
    const std::size_t found = device.poll();
    inside.fetch_sub(1);
    return found;
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < static_cast<int>(scaled(500, 100)); ++i) {
        runtime.spawn([&, i] {
          this_task::events().add();
          device.start(this_task::events(), 1 + i % 3);
          service.add_pending();
        });
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  runtime.wait();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(PollingTest, PendingIsAddedByAnyThread) {
  Runtime runtime(Options{.workers = 1});
  std::atomic<std::size_t> completed{0};
  std::atomic<std::size_t> available{0};
  PollingService service(runtime, "counter", {microseconds(1), microseconds(20)}, [&] {
    const std::size_t found = available.exchange(0);
    completed.fetch_add(found);
    return found;
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1'000; ++i) {
        service.add_pending(2);
        available.fetch_add(2);
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  await([&] { return service.pending() == 0; });
  EXPECT_EQ(completed.load(), 8'000U);
}

TEST(PollingTest, SenselessRatesAreRefused) {
  Runtime runtime(Options{.workers = 1});
  auto poll = [] { return std::size_t{0}; };
  EXPECT_THROW(PollingService(runtime, "a", {nanoseconds(0), microseconds(1)}, poll), std::invalid_argument);
  EXPECT_THROW(PollingService(runtime, "b", {microseconds(2), microseconds(1)}, poll), std::invalid_argument);
  try {
    PollingService(runtime, "the name", {}, nullptr);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("the name"), std::string::npos);
  }
}

TEST(PollingTest, WhatIsPendingIsNotStuck) {
  Runtime runtime(Options{.workers = 1, .stuck_after = milliseconds(1)});
  Device device;
  PollingService service(runtime, "slow device", {milliseconds(40), milliseconds(40)}, [&] { return device.poll(); });
  runtime.spawn([&] {
    this_task::events().add();
    device.start(this_task::events(), 5);
    service.add_pending();
  });
  runtime.wait();
  EXPECT_EQ(device.polls(), 5U);
}

}  // namespace
}  // namespace dovetail::test
