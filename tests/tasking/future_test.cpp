// Futures: results of all kinds, copies, several waiters, readiness.
#include <memory>

#include "support.hpp"

namespace dovetail::test {
namespace {

TEST(FutureTest, AResult) {
  Runtime runtime(Options{.workers = 2});
  Future<std::string> future = runtime.spawn([] { return std::string("a result that is not short at all"); });
  EXPECT_TRUE(future.valid());
  EXPECT_EQ(future.get(), "a result that is not short at all");
  EXPECT_EQ(future.get(), "a result that is not short at all") << "again, from an lvalue";
  EXPECT_TRUE(future.ready());
}

TEST(FutureTest, NoTask) {
  Future<int> none;
  EXPECT_FALSE(none.valid());
  EXPECT_FALSE(none.ready());
  EXPECT_THROW(none.get(), std::logic_error);
  EXPECT_THROW(none.wait(), std::logic_error);
  none.cancel();
}

TEST(FutureTest, CopiesStandForTheSameTask) {
  Runtime runtime(Options{.workers = 2});
  Gate gate;
  Future<int> first = runtime.spawn([&] {
    gate.pass();
    return 3;
  });
  const Future<int> second = first;
  Future<int> third;
  third = second;
  Future<int> moved = std::move(first);
  EXPECT_FALSE(first.valid());  // NOLINT(bugprone-use-after-move): what moving leaves is documented
  EXPECT_FALSE(second.ready());
  gate.open();
  EXPECT_EQ(second.get(), 3);
  EXPECT_EQ(third.get(), 3);
  EXPECT_EQ(moved.get(), 3);
  third = Future<int>();
  EXPECT_FALSE(third.valid());
  moved = *&moved;
  EXPECT_EQ(moved.get(), 3);
}

TEST(FutureTest, AResultThatCanOnlyBeMoved) {
  Runtime runtime(Options{.workers = 2});
  auto future = runtime.spawn([] { return std::make_unique<int>(9); });
  const std::unique_ptr<int> result = future.get();
  ASSERT_NE(result, nullptr);
  EXPECT_EQ(*result, 9);
}

TEST(FutureTest, AReference) {
  Runtime runtime(Options{.workers = 2});
  int target = 1;
  auto future = runtime.spawn([&]() -> int& { return target; });
  static_assert(std::is_same_v<decltype(future), Future<int&>>);
  future.get() = 8;
  EXPECT_EQ(target, 8);
  EXPECT_EQ(&future.get(), &target);
  const int constant = 4;
  EXPECT_EQ(&runtime.spawn([&]() -> const int& { return constant; }).get(), &constant);
}

TEST(FutureTest, NoResult) {
  Runtime runtime(Options{.workers = 2});
  bool ran = false;
  Future<void> future = runtime.spawn([&] { ran = true; });
  future.get();
  future.get();
  EXPECT_TRUE(ran);
}

TEST(FutureTest, AFutureOfAFuture) {
  Runtime runtime(Options{.workers = 2});
  auto future = runtime.spawn([] { return spawn([] { return 6; }); });
  EXPECT_EQ(future.get().get(), 6);
}

struct Counted {
  static inline std::atomic<int> alive{0};
  static inline std::atomic<int> copies{0};
  explicit Counted(int number) : value(number) { ++alive; }
  Counted(const Counted& other) : value(other.value) {
    ++alive;
    ++copies;
  }
  Counted(Counted&& other) noexcept : value(other.value) { ++alive; }
  ~Counted() { --alive; }
  int value;
};

TEST(FutureTest, AResultLivesAsLongAsAFuture) {
  Counted::alive = 0;
  Runtime runtime(Options{.workers = 2});
  {
    auto future = runtime.spawn([] { return Counted(5); });
    future.wait();
    EXPECT_EQ(Counted::alive.load(), 1);
    EXPECT_EQ(future.get().value, 5);
    EXPECT_EQ(Counted::alive.load(), 1);
  }
  // The runtime tells the waiter before it lets go of the task itself.
  await([] { return Counted::alive.load() == 0; });
  runtime.spawn([] { return Counted(6); });
  runtime.wait();
  await([] { return Counted::alive.load() == 0; });
}

TEST(FutureTest, TheFutureOutlivesTheRuntime) {
  Future<std::string> future;
  Future<int> failed;
  {
    Runtime runtime(Options{.workers = 2});
    future = runtime.spawn([] { return std::string("a result that needs memory of its own"); });
    failed = runtime.spawn({.label = "fails"}, []() -> int { throw std::runtime_error("on purpose"); });
    failed.wait();
    EXPECT_TRUE(failure_of([&] { failed.get(); }));
  }
  EXPECT_TRUE(future.ready());
  EXPECT_EQ(future.get(), "a result that needs memory of its own");
  EXPECT_EQ(failure_of([&] { failed.get(); })->label(), "fails");
}

TEST(FutureTest, GetThrowsWhatFailedEachTime) {
  Runtime runtime(Options{.workers = 2});
  auto future = runtime.spawn({.label = "thrower"}, []() -> int { throw std::out_of_range("too far"); });
  future.wait();
  for (int i = 0; i < 2; ++i) {
    const auto failed = failure_of([&] { future.get(); });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->label(), "thrower");
    EXPECT_FALSE(failed->cancelled());
    EXPECT_EQ(innermost(*failed), "too far");
    EXPECT_THROW(std::rethrow_if_nested(*failed), std::out_of_range);
    EXPECT_THROW(std::rethrow_exception(failed->cause()), std::out_of_range);
    EXPECT_THROW(std::rethrow_exception(failed->nested_ptr()), std::out_of_range);
  }
}

TEST(FutureTest, ManyThreadsAndTasksWaitForOne) {
  Runtime runtime(Options{.workers = 2});
  Gate gate;
  auto future = runtime.spawn([&] {
    gate.pass();
    return 77;
  });
  std::atomic<int> got{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&got, future] { got.fetch_add(future.get()); });
  }
  for (int i = 0; i < 100; ++i) {
    runtime.spawn([&got, future] { got.fetch_add(future.get()); });
  }
  gate.open();
  for (auto& thread : threads) {
    thread.join();
  }
  runtime.wait();
  EXPECT_EQ(got.load(), 108 * 77);
}

TEST(FutureTest, ATaskThatWaitsForItself) {
  Runtime runtime(Options{.workers = 1});
  Gate gate;
  Future<int> self;
  self = runtime.spawn([&]() -> int {
    gate.pass();
    return self.get();
  });
  Future<int> copy = self;
  gate.open();
  const auto failed = failure_of([&] { copy.get(); });
  ASSERT_TRUE(failed);
  EXPECT_THROW(std::rethrow_if_nested(*failed), std::logic_error);
}

TEST(FutureTest, WaitSeesWhatTheTaskWrote) {
  Runtime runtime(Options{.workers = 2});
  for (int i = 0; i < 2000; ++i) {
    int plain = 0;
    auto future = runtime.spawn([&] { plain = i; });
    if (i % 2 == 0) {
      await([&] { return future.ready(); });
    } else {
      future.wait();
    }
    ASSERT_EQ(plain, i);
  }
}

TEST(FutureTest, GetLeavesTheResultWhereItIs) {
  Counted::copies = 0;
  Runtime runtime(Options{.workers = 2});
  Future<Counted> kept = runtime.spawn([] { return Counted(1); });
  EXPECT_EQ(kept.get().value, 1);
  EXPECT_EQ(kept.get().value, 1) << "again";
  EXPECT_EQ(Counted::copies.load(), 2) << "one for each get";
}

}  // namespace
}  // namespace dovetail::test
