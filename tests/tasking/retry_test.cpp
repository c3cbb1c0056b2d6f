// The policy `retry`: the body is run again, as if it had not been run before.
#include "support.hpp"

namespace dovetail::test {
namespace {

TEST(RetryTest, AsOftenAsSaid) {
  Runtime runtime(Options{.workers = 2});
  for (unsigned times = 0; times <= 4; ++times) {
    unsigned attempts = 0;
    auto future = runtime.spawn({.label = "stubborn", .on_failure = retry(times)}, [&] {
      ++attempts;
      throw std::runtime_error("attempt " + std::to_string(attempts));
    });
    const auto failed = failure_of([&] { future.get(); });
    ASSERT_TRUE(failed);
    EXPECT_EQ(attempts, times + 1);
    EXPECT_EQ(innermost(*failed), "attempt " + std::to_string(times + 1)) << "the failure of the last attempt";
  }
  runtime.wait();
}

TEST(RetryTest, SuccessEndsIt) {
  Runtime runtime(Options{.workers = 2});
  int data = 0;
  int attempts = 0;
  auto future = runtime.spawn({.access = {out(data)}, .on_failure = retry(10)}, [&] {
    if (++attempts < 4) {
      throw std::runtime_error("not yet");
    }
    data = 7;
    return attempts;
  });
  auto successor = runtime.spawn({.access = {in(data)}}, [&] { return data; });
  EXPECT_EQ(successor.get(), 7);
  EXPECT_EQ(future.get(), 4);
  runtime.wait();
}

TEST(RetryTest, BoundEventsThatFail) {
  Runtime runtime(Options{.workers = 2});
  std::vector<std::thread> outside;
  int attempts = 0;
  auto future = runtime.spawn({.on_failure = retry(3)}, [&] {
    const int attempt = ++attempts;
    Events& events = this_task::events();
    events.add(2);
    outside.emplace_back([&events, attempt] {
      events.fulfill();
      if (attempt < 3) {
        events.fail(std::make_exception_ptr(std::runtime_error("the operation")));
      } else {
        events.fulfill();
      }
    });
    return attempt;
  });
  EXPECT_EQ(future.get(), 3);
  for (auto& thread : outside) {
    thread.join();
  }
  runtime.wait();
}

TEST(RetryTest, ChildrenThatFail) {
  // The second attempt must not find the data of the first one's children spoilt.
  for (const bool waits : {false, true}) {
    Runtime runtime(Options{.workers = 2});
    int attempts = 0;
    int data = 0;
    int ran = 0;
    auto future = runtime.spawn({.on_failure = retry(1)}, [&] {
      const int attempt = ++attempts;
      spawn({.access = {inout(data)}}, [attempt] {
        if (attempt == 1) {
          throw std::runtime_error("the child");
        }
      });
      spawn({.access = {in(data)}}, [&ran] { ++ran; });
      if (waits) {
        wait();
      }
    });
    future.get();
    EXPECT_EQ(attempts, 2);
    EXPECT_EQ(ran, 1);
    runtime.wait();
  }
}

TEST(RetryTest, OverPausesAndOnAllKindsOfTasks) {
  Runtime runtime(Options{.workers = 2});
  int data = 0;
  struct Kind {
    bool io, tied;
    int priority;
    bool commutes;
  };
  for (const Kind& kind : {Kind{false, false, 0, false}, Kind{true, false, 0, false}, Kind{false, true, 0, false},
                           Kind{false, false, 5, false}, Kind{false, false, -5, true}}) {
    int attempts = 0;
    auto future = runtime.spawn({.access = {kind.commutes ? commutative(data) : inout(data)},
                                 .priority = kind.priority,
                                 .io = kind.io,
                                 .on_failure = retry(5),
                                 .tied = kind.tied},
                                [&] {
                                  this_task::yield();
                                  if (++attempts < 4) {
                                    throw std::runtime_error("not yet");
                                  }
                                  this_task::yield();
                                });
    future.get();
    EXPECT_EQ(attempts, 4);
  }
}

TEST(RetryTest, ACancelledTaskIsNotTriedAgain) {
  Runtime runtime(Options{.workers = 2});
  int data = 0;
  int attempts = 0;
  runtime.spawn({.access = {out(data)}}, [] { throw std::runtime_error("the origin"); });
  auto successor = runtime.spawn({.access = {in(data)}, .on_failure = retry(5)}, [&] { ++attempts; });
  EXPECT_TRUE(failure_of([&] { successor.get(); }));
  EXPECT_EQ(attempts, 0);

  Future<void> self;
  Gate gate;
  self = runtime.spawn({.on_failure = retry(5)}, [&] {
    ++attempts;
    gate.pass();
    self.cancel();
    throw std::runtime_error("stopped");
  });
  Future<void> copy = self;
  gate.open();
  EXPECT_TRUE(failure_of([&] { copy.get(); }));
  EXPECT_EQ(attempts, 1);
}

}  // namespace
}  // namespace dovetail::test
