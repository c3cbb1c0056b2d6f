// `onready`: called once between the release of the accesses and the body, which its events hold back.
#include "support.hpp"

namespace dovetail::test {
namespace {

TEST(OnreadyTest, OnceBeforeTheBodyAndAfterTheAccesses) {
  Runtime runtime(Options{.workers = 2});
  for (int i = 0; i < 300; ++i) {
    int data = 0;
    std::vector<int> order;
    runtime.spawn({.access = {out(data)}}, [&] { order.push_back(0); });
    runtime.spawn({.access = {in(data)}, .onready = [&] { order.push_back(1); }}, [&] { order.push_back(2); });
    runtime.wait();
    ASSERT_EQ(order, (std::vector<int>{0, 1, 2}));
  }
}

TEST(OnreadyTest, RunsOutsideOfAnyTask) {
  Runtime runtime(Options{.workers = 2});
  int checks = 0;
  auto check = [&checks] {
    checks += this_task::active() ? 0 : 1;
    checks += this_task::label().empty() ? 1 : 0;
    EXPECT_THROW(this_task::suspend(), std::logic_error);
    EXPECT_THROW(this_task::handle(), std::logic_error);
  };
  runtime.spawn({.onready = check}, [] {}).get();
  runtime.spawn([&] { spawn({.onready = check}, [] {}).get(); }).get();
  int data = 0;
  runtime.spawn({.access = {out(data)}}, [] {});
  runtime.spawn({.access = {in(data)}, .onready = check}, [] {}).get();
  EXPECT_EQ(checks, 6);
}

// Where the task is spawned from decides on which thread, and in the middle of what, `onready` is called.
enum class From { outside, task, predecessor };
class OnreadyFromTest : public testing::TestWithParam<From> {
 protected:
  // Spawns a task that passes `body`, with `onready`, in that way; waits for nothing.
  template <class Body>
  Future<void> spawn_it(std::function<void()> onready, Body body) {
    switch (GetParam()) {
      case From::outside:
        return runtime_.spawn({.label = "late", .onready = std::move(onready)}, body);
      case From::task:
        return runtime_
            .spawn([&] {
              return runtime_.spawn([this, onready = std::move(onready), body] {
                spawn({.label = "late", .onready = onready}, body).get();
              });
            })
            .get();
      case From::predecessor:
        runtime_.spawn({.access = {inout(data_)}}, [] { this_task::yield(); });
        return runtime_.spawn({.label = "late", .access = {inout(data_)}, .onready = std::move(onready)}, body);
    }
    return {};
  }
  int data_ = 0;
  Runtime runtime_{Options{.workers = 2}};
};

INSTANTIATE_TEST_SUITE_P(All, OnreadyFromTest, testing::Values(From::outside, From::task, From::predecessor));

TEST_P(OnreadyFromTest, ItsEventsHoldTheBodyBack) {
  std::atomic<Events*> events{nullptr};
  std::atomic<bool> ran{false};
  auto future = spawn_it(
      [&] {
        this_task::events().add(2);
        events.store(&this_task::events());
      },
      [&] { ran.store(true); });
  await([&] { return events.load() != nullptr; });
  events.load()->fulfill();
  for (int i = 0; i < 10; ++i) {
    runtime_.spawn([] {}).get();
  }
  EXPECT_FALSE(ran.load());
  events.load()->fulfill();
  future.get();
  EXPECT_TRUE(ran.load());
}

TEST_P(OnreadyFromTest, FulfilledAtOnce) {
  bool ran = false;
  spawn_it(
      [&] {
        this_task::events().add();
        this_task::events().fulfill();
      },
      [&] { ran = true; })
      .get();
  EXPECT_TRUE(ran);
}

TEST_P(OnreadyFromTest, WhatItThrowsFailsTheTask) {
  bool ran = false;
  auto future = spawn_it([] { throw std::runtime_error("not ready"); }, [&] { ran = true; });
  const auto failed = failure_of([&] { future.get(); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(innermost(*failed), "not ready");
  EXPECT_FALSE(ran);
}

TEST_P(OnreadyFromTest, AFailedEventFailsTheTask) {
  bool ran = false;
  std::thread outside;
  auto future = spawn_it(
      [&] {
        Events& events = this_task::events();
        events.add();
        outside = std::thread([&events] { events.fail(std::make_exception_ptr(std::runtime_error("no data"))); });
      },
      [&] { ran = true; });
  const auto failed = failure_of([&] { future.get(); });
  outside.join();
  ASSERT_TRUE(failed);
  EXPECT_EQ(innermost(*failed), "no data");
  EXPECT_FALSE(ran);
}

TEST(OnreadyTest, EventsOfTheBodyAfterThoseOfOnready) {
  Runtime runtime(Options{.workers = 2});
  for (std::size_t round = 0; round < scaled(500, 100); ++round) {
    std::vector<std::thread> outside(2);
    std::atomic<int> steps{0};
    auto arrange = [&](std::size_t which) {
      Events& events = this_task::events();
      events.add();
      outside[which] = std::thread([&] {
        steps.fetch_add(1);
        events.fulfill();
      });
    };
    int before_body = -1;
    runtime
        .spawn({.onready = [&] { arrange(0); }},
               [&] {
                 before_body = steps.load();
                 arrange(1);
               })
        .get();
    EXPECT_EQ(before_body, 1);
    EXPECT_EQ(steps.load(), 2);
    outside[0].join();
    outside[1].join();
  }
}

TEST(OnreadyTest, NotCalledForWhatIsCancelled) {
  Runtime runtime(Options{.workers = 2});
  int data = 0;
  bool called = false;
  runtime.spawn({.label = "broken", .access = {out(data)}}, [] { throw std::runtime_error("on purpose"); });
  auto successor = runtime.spawn({.access = {in(data)}, .onready = [&] { called = true; }}, [] {});
  EXPECT_TRUE(failure_of([&] { successor.get(); }));
  EXPECT_FALSE(called);
}

TEST(OnreadyTest, NotCalledAgainForARetry) {
  Runtime runtime(Options{.workers = 2});
  int called = 0;
  int attempts = 0;
  runtime
      .spawn({.onready = [&] { ++called; }, .on_failure = retry(3)},
             [&] {
               if (++attempts < 3) {
                 throw std::runtime_error("again");
               }
             })
      .get();
  EXPECT_EQ(called, 1);
  EXPECT_EQ(attempts, 3);
}

TEST(OnreadyTest, ABodyWhoseOnreadyFailedIsNotRunByARetry) {
  Runtime runtime(Options{.workers = 2});
  int attempts = 0;
  auto future = runtime.spawn({.onready = [] { throw std::runtime_error("not ready"); }, .on_failure = retry(3)},
                              [&] { ++attempts; });
  EXPECT_TRUE(failure_of([&] { future.get(); }));
  EXPECT_EQ(attempts, 0);
}

TEST(OnreadyTest, ForIoTasksAndCommutativeAccesses) {
  Runtime runtime(Options{.workers = 2});
  int data = 0;
  for (int i = 0; i < 50; ++i) {
    runtime.spawn({.access = {commutative(data)}, .io = true, .onready = [] { this_task::events().add(0); }},
                  [&] { ++data; });
  }
  runtime.wait();
  EXPECT_EQ(data, 50);
}

TEST(OnreadyTest, MaySpawnAndCompleteOthers) {
  Runtime runtime(Options{.workers = 2});
  std::atomic<int> ran{0};
  for (int i = 0; i < 100; ++i) {
    runtime.spawn({.onready = [&] { runtime.spawn([&] { ran.fetch_add(1); }); }}, [&] { ran.fetch_add(1); });
  }
  runtime.wait();
  EXPECT_EQ(ran.load(), 200);
}

}  // namespace
}  // namespace dovetail::test
