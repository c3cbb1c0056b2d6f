// Spawning: what a body may be, where it runs, and what `Runtime::wait` promises.
#include <array>
#include <cstring>
#include <memory>

#include "support.hpp"

namespace dovetail::test {
namespace {

TEST(SpawnTest, EveryTaskRunsOnce) {
  Runtime runtime(Options{.workers = 2});
  const std::size_t count = scaled(100'000, 5'000);
  std::vector<std::atomic<int>> runs(count);
  for (std::size_t i = 0; i < count; ++i) {
    runtime.spawn([&runs, i] { runs[i].fetch_add(1); });
  }
  runtime.wait();
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(runs[i].load(), 1) << "task " << i;
  }
}

TEST(SpawnTest, WaitMayBeCalledAgainAndAgain) {
  Runtime runtime(Options{.workers = 2});
  runtime.wait();
  std::atomic<int> done{0};
  for (int round = 1; round <= 100; ++round) {
    runtime.spawn([&] { done.fetch_add(1); });
    runtime.wait();
    ASSERT_EQ(done.load(), round);
  }
  runtime.wait();
}

TEST(SpawnTest, WaitCoversTasksThatTasksSpawn) {
  Runtime runtime(Options{.workers = 2});
  std::atomic<int> done{0};
  runtime.spawn([&] {
    spawn([&] {
      spawn([&] { done.fetch_add(1); });
      runtime.spawn([&] { done.fetch_add(1); });
    });
  });
  runtime.wait();
  EXPECT_EQ(done.load(), 2);
}

TEST(SpawnTest, TheDestructorWaits) {
  std::atomic<int> done{0};
  {
    Runtime runtime(Options{.workers = 2});
    for (int i = 0; i < 1000; ++i) {
      runtime.spawn([&] { done.fetch_add(1); });
    }
  }
  EXPECT_EQ(done.load(), 1000);
}

TEST(SpawnTest, BodiesOfAllSizes) {
  Runtime runtime(Options{.workers = 2});
  auto check = [&]<std::size_t size>(std::integral_constant<std::size_t, size>) {
    std::array<unsigned char, size> data;
    for (std::size_t i = 0; i < size; ++i) {
      data[i] = static_cast<unsigned char>(i * 7 + size);
    }
    auto future = runtime.spawn([data] { return data; });
    EXPECT_EQ(future.get(), data) << size;
  };
  check(std::integral_constant<std::size_t, 1>{});
  check(std::integral_constant<std::size_t, 63>{});
  check(std::integral_constant<std::size_t, 200>{});
  check(std::integral_constant<std::size_t, 500>{});
  check(std::integral_constant<std::size_t, 100'000>{});
}

TEST(SpawnTest, BodiesThatAskForAlignment) {
  struct alignas(256) Aligned {
    int value;
  };
  Runtime runtime(Options{.workers = 2});
  const Aligned aligned{42};
  auto future = runtime.spawn([aligned] { return reinterpret_cast<std::uintptr_t>(&aligned) % 256 + 1; });
  EXPECT_EQ(future.get(), 1U);
}

TEST(SpawnTest, BodiesThatCanOnlyBeMoved) {
  Runtime runtime(Options{.workers = 2});
  auto owned = std::make_unique<int>(5);
  auto future = runtime.spawn([owned = std::move(owned)] { return *owned; });
  EXPECT_EQ(future.get(), 5);
}

int plain_function() { return 11; }

TEST(SpawnTest, FunctionsAndFunctionObjects) {
  Runtime runtime(Options{.workers = 1});
  EXPECT_EQ(runtime.spawn(&plain_function).get(), 11);
  EXPECT_EQ(runtime.spawn(std::function<int()>(plain_function)).get(), 11);
  const auto constant = [] { return 12; };
  EXPECT_EQ(runtime.spawn(constant).get(), 12);
  auto counting = [count = 0]() mutable { return ++count; };
  EXPECT_EQ(runtime.spawn(counting).get(), 1);
}

TEST(SpawnTest, ABodyIsDestroyedOnceItsTaskHasCompleted) {
  Runtime runtime(Options{.workers = 2});
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  auto future = runtime.spawn([held = std::move(held)] { return *held; });
  future.wait();
  EXPECT_TRUE(watched.expired()) << "though the future still lives";
  EXPECT_EQ(future.get(), 1);
}

TEST(SpawnTest, ABodyLivesUntilTheChildrenHaveCompleted) {
  Runtime runtime(Options{.workers = 2});
  Gate gate;
  std::atomic<int> seen{0};
  auto held = std::make_shared<int>(7);
  auto future = runtime.spawn([held = std::move(held), &gate, &seen] {
    spawn([&held, &gate, &seen] {
      gate.pass();
      seen.store(*held);
    });
  });
  gate.open();
  future.wait();
  EXPECT_EQ(seen.load(), 7);
}

struct ThrowsWhenCopied {
  ThrowsWhenCopied() = default;
  ThrowsWhenCopied(const ThrowsWhenCopied&) { throw std::runtime_error("no copies"); }
  void operator()() const {}
};

TEST(SpawnTest, ABodyThatCannotBeCopiedLeavesNothingBehind) {
  Runtime runtime(Options{.workers = 2});
  const ThrowsWhenCopied body;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_THROW(runtime.spawn(body), std::runtime_error);
    EXPECT_THROW(runtime.spawn({.label = "described", .onready = [] {}}, body), std::runtime_error);
  }
  runtime.wait();
  runtime.spawn([&] { EXPECT_THROW(spawn(body), std::runtime_error); }).get();
}

TEST(SpawnTest, TheDescriptionIsCopied) {
  Runtime runtime(Options{.workers = 1});
  Gate gate;
  auto first = runtime.spawn([&] { gate.pass(); });
  int data = 0;
  Future<std::string> future;
  {
    std::string label = "a label of its own";
    std::vector<Access> accesses(20, in(data));
    TaskDescription description{.label = label, .access = AccessList(std::span<const Access>(accesses))};
    future = runtime.spawn(description, [] { return std::string(this_task::label()); });
    label.assign(label.size(), 'x');
    accesses.clear();
  }
  gate.open();
  EXPECT_EQ(future.get(), "a label of its own");
}

TEST(SpawnTest, ManyDifferentLabels) {
  Runtime runtime(Options{.workers = 2});
  const std::size_t count = scaled(70'000, 2'000);
  std::atomic<std::size_t> wrong{0};
  for (std::size_t i = 0; i < count; ++i) {
    const std::string label = "task number " + std::to_string(i);
    runtime.spawn({.label = label}, [&wrong, i] {
      if (this_task::label() != "task number " + std::to_string(i)) {
        wrong.fetch_add(1);
      }
    });
  }
  runtime.wait();
  EXPECT_EQ(wrong.load(), 0U);
}

TEST(SpawnTest, OutsideOfATask) {
  EXPECT_THROW(spawn([] {}), std::logic_error);
  EXPECT_THROW(wait(), std::logic_error);
  EXPECT_THROW(this_task::suspend(), std::logic_error);
  EXPECT_THROW(this_task::handle(), std::logic_error);
  EXPECT_THROW(this_task::events(), std::logic_error);
  EXPECT_FALSE(this_task::active());
  EXPECT_FALSE(this_task::cancelled());
  EXPECT_EQ(this_task::label(), "");
}

TEST(SpawnTest, InsideOfATask) {
  Runtime runtime(Options{.workers = 1});
  runtime
      .spawn({.label = "inside"},
             [&] {
               EXPECT_TRUE(this_task::active());
               EXPECT_FALSE(this_task::cancelled());
               EXPECT_EQ(this_task::label(), "inside");
               EXPECT_TRUE(this_task::handle());
               EXPECT_FALSE(TaskHandle());
               EXPECT_THROW(runtime.wait(), std::logic_error);
             })
      .get();
}

TEST(SpawnTest, SeveralRuntimesInOneProcess) {
  Runtime first(Options{.workers = 1});
  Runtime second(Options{.workers = 2});
  // A task may spawn into another runtime, wait for the future, and for that whole runtime.
  auto future = first.spawn([&] {
    std::atomic<int> sum{0};
    int result = second.spawn([] { return 20; }).get();
    for (int i = 0; i < 100; ++i) {
      second.spawn([&] { sum.fetch_add(1); });
    }
    second.wait();
    result += sum.load();
    const auto here = std::this_thread::get_id();
    EXPECT_NE(second.spawn([] { return std::this_thread::get_id(); }).get(), here);
    return result;
  });
  EXPECT_EQ(future.get(), 120);
  EXPECT_EQ(first.workers(), 1U);
  EXPECT_EQ(second.workers(), 2U);
}

TEST(SpawnTest, ManyShortRuntimes) {
  std::atomic<int> done{0};
  const int rounds = static_cast<int>(scaled(300, 60));
  for (int i = 0; i < rounds; ++i) {
    Runtime runtime(Options{.workers = 1 + static_cast<unsigned>(i % 4)});
    runtime.spawn([&] { done.fetch_add(1); });
  }
  EXPECT_EQ(done.load(), rounds);
}

}  // namespace
}  // namespace dovetail::test
