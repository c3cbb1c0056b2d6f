// Events: what a task waits for besides its body and its children.
#include "support.hpp"

namespace dovetail::test {
namespace {

TEST(EventsTest, FulfilledAfterTheBodyHasReturned) {
  Runtime runtime(Options{.workers = 2});
  Events* events = nullptr;
  std::atomic<bool> returned{false};
  int data = 0;
  auto future = runtime.spawn({.access = {out(data)}}, [&] {
    events = &this_task::events();
    events->add();
    returned.store(true);
  });
  std::atomic<bool> successor{false};
  runtime.spawn({.access = {in(data)}}, [&] { successor.store(true); });
  await([&] { return returned.load(); });
  // A task spawned now runs, while the successor does not.
  runtime.spawn([] {}).get();
  EXPECT_FALSE(future.ready());
  EXPECT_FALSE(successor.load());
  events->fulfill();
  future.wait();
  runtime.wait();
  EXPECT_TRUE(successor.load());
}

TEST(EventsTest, FulfilledBeforeTheBodyReturns) {
  Runtime runtime(Options{.workers = 2});
  for (int i = 0; i < 1000; ++i) {
    runtime.spawn([] {
      Events& events = this_task::events();
      events.add(3);
      events.fulfill(2);
      events.fulfill();
      events.add();
      events.fulfill();
    });
  }
  runtime.wait();
}

TEST(EventsTest, AnEventKeepsTheObjectValidForMore) {
  Runtime runtime(Options{.workers = 2});
  Gate returned;
  Events* events = nullptr;
  auto future = runtime.spawn([&] {
    events = &this_task::events();
    events->add();
    returned.open();
  });
  returned.pass();
  for (int i = 0; i < 100; ++i) {
    events->add(2);
    events->fulfill(2);
    EXPECT_FALSE(future.ready());
  }
  events->add();
  events->fulfill(2);
  future.get();
}

TEST(EventsTest, ManyThreadsFulfill) {
  Runtime runtime(Options{.workers = 2});
  const std::size_t tasks = scaled(2'000, 300);
  constexpr std::size_t threads = 4;
  std::vector<std::atomic<Events*>> events(tasks);
  std::vector<Future<void>> futures;
  for (std::size_t i = 0; i < tasks; ++i) {
    futures.push_back(runtime.spawn([&events, i] {
      this_task::events().add(threads);
      events[i].store(&this_task::events());
    }));
  }
  std::vector<std::thread> outside;
  for (std::size_t t = 0; t < threads; ++t) {
    outside.emplace_back([&, t] {
      Random random(t);
      for (std::size_t i = 0; i < tasks; ++i) {
        await([&] { return events[i].load() != nullptr; });
        stumble(random);
        events[i].load()->fulfill();
      }
    });
  }
  for (auto& thread : outside) {
    thread.join();
  }
  runtime.wait();
  for (auto& future : futures) {
    EXPECT_TRUE(future.ready());
  }
}

TEST(EventsTest, TheRuntimeMayEndRightAfterTheLastEvent) {
  for (std::size_t round = 0; round < scaled(1'000, 200); ++round) {
    std::thread outside;
    {
      Runtime runtime(Options{.workers = 1});
      runtime.spawn([&] {
        Events& events = this_task::events();
        events.add();
        outside = std::thread([&events] { events.fulfill(); });
      });
      runtime.wait();
    }
    outside.join();
  }
}

TEST(EventsTest, AFailedEventFailsTheTask) {
  Runtime runtime(Options{.workers = 2});
  int data = 0;
  bool successor_ran = false;
  auto future = runtime.spawn({.label = "bound", .access = {out(data)}}, [&]() -> int {
    Events& events = this_task::events();
    events.add();
    std::thread([&events] { events.fail(std::make_exception_ptr(std::runtime_error("the event"))); }).detach();
    return 5;
  });
  auto successor = runtime.spawn({.label = "next", .access = {in(data)}}, [&] { successor_ran = true; });
  const auto failed = failure_of([&] { future.get(); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->label(), "bound");
  EXPECT_EQ(innermost(*failed), "the event");
  EXPECT_FALSE(failed->cancelled());
  EXPECT_TRUE(failure_of([&] { successor.get(); }));
  EXPECT_FALSE(successor_ran);
}

TEST(EventsTest, TheFirstFailureIsKept) {
  Runtime runtime(Options{.workers = 2});
  auto future = runtime.spawn([] {
    Events& events = this_task::events();
    events.add(2);
    events.fail(std::make_exception_ptr(std::runtime_error("first")));
    events.fail(std::make_exception_ptr(std::runtime_error("second")));
    throw std::runtime_error("third");
  });
  const auto failed = failure_of([&] { future.get(); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(innermost(*failed), "first");
}

TEST(EventsTest, AFailureWithoutACauseIsAFailure) {
  Runtime runtime(Options{.workers = 2});
  auto future = runtime.spawn({.label = "causeless"}, [] {
    this_task::events().add();
    this_task::events().fail(nullptr);
  });
  const auto failed = failure_of([&] { future.get(); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->label(), "causeless");
  EXPECT_EQ(failed->cause(), nullptr);
}

TEST(EventsTest, EventsAndChildrenTogether) {
  Runtime runtime(Options{.workers = 3});
  for (std::size_t round = 0; round < scaled(500, 100); ++round) {
    Random random(round);
    std::atomic<int> done{0};
    std::vector<std::thread> outside;
    auto future = runtime.spawn([&] {
      Events& events = this_task::events();
      events.add(2);
      outside.emplace_back([&] {
        done.fetch_add(1);
        events.fulfill();
      });
      for (int i = 0; i < 3; ++i) {
        spawn([&] { done.fetch_add(1); });
      }
      done.fetch_add(1);
      events.fulfill();
    });
    stumble(random);
    future.get();
    EXPECT_EQ(done.load(), 5);
    outside.front().join();
  }
}

TEST(EventsTest, AChildMayFulfillItsParentsEvent) {
  Runtime runtime(Options{.workers = 2});
  for (int i = 0; i < 500; ++i) {
    auto future = runtime.spawn([] {
      Events& events = this_task::events();
      events.add();
      spawn([&events] { events.fulfill(); });
    });
    future.get();
  }
}

}  // namespace
}  // namespace dovetail::test
