// Tied tasks go on where they were.
#include "support.hpp"

namespace dovetail::test {
namespace {

TEST(TiedTest, StayOnTheirThread) {
  Runtime runtime(Options{.workers = 4});
  std::atomic<int> moved{0};
  for (int i = 0; i < 200; ++i) {
    runtime.spawn({.tied = true}, [&] {
      const auto here = std::this_thread::get_id();
      for (int k = 0; k < 10; ++k) {
        this_task::yield();
        moved.fetch_add(std::this_thread::get_id() == here ? 0 : 1);
        this_task::wait_for(std::chrono::microseconds(k));
        moved.fetch_add(std::this_thread::get_id() == here ? 0 : 1);
      }
    });
  }
  runtime.wait();
  EXPECT_EQ(moved.load(), 0);
}

TEST(TiedTest, ResumedFromOutside) {
  Runtime runtime(Options{.workers = 3});
  const int rounds = static_cast<int>(scaled(5'000, 500));
  TaskHandle handle;
  std::atomic<bool> known{false};
  std::atomic<int> turn{0};
  int moved = 0;
  auto future = runtime.spawn({.tied = true}, [&] {
    const auto here = std::this_thread::get_id();
    handle = this_task::handle();
    known.store(true);
    for (int i = 1; i <= rounds; ++i) {
      turn.store(i);
      this_task::suspend();
      moved += std::this_thread::get_id() == here ? 0 : 1;
    }
  });
  std::thread outside([&] {
    await([&] { return known.load(); });
    for (int i = 1; i <= rounds; ++i) {
      await([&] { return turn.load() >= i; });
      handle.resume();
    }
  });
  future.get();
  outside.join();
  EXPECT_EQ(moved, 0);
}

TEST(TiedTest, WaitingForChildrenThatMove) {
  // A child that runs on top of a tied parent must not take it along.
  Runtime runtime(Options{.workers = 4});
  std::atomic<int> moved{0};
  for (int i = 0; i < static_cast<int>(scaled(500, 100)); ++i) {
    runtime.spawn({.tied = true}, [&] {
      const auto here = std::this_thread::get_id();
      for (int k = 0; k < 5; ++k) {
        spawn([] {
          this_task::yield();
          this_task::wait_for(std::chrono::microseconds(5));
          this_task::yield();
        });
      }
      wait();
      moved.fetch_add(std::this_thread::get_id() == here ? 0 : 1);
      spawn([] { this_task::yield(); }).get();
      moved.fetch_add(std::this_thread::get_id() == here ? 0 : 1);
    });
  }
  runtime.wait();
  EXPECT_EQ(moved.load(), 0);
}

TEST(TiedTest, BelowOneThatIsNotTied) {
  // An untied parent lends its stack to a tied child.
  Runtime runtime(Options{.workers = 4});
  std::atomic<int> moved{0};
  for (int i = 0; i < static_cast<int>(scaled(500, 100)); ++i) {
    runtime.spawn([&] {
      for (int k = 0; k < 3; ++k) {
        spawn({.tied = true}, [&] {
          const auto here = std::this_thread::get_id();
          spawn([] { this_task::yield(); });
          this_task::yield();
          moved.fetch_add(std::this_thread::get_id() == here ? 0 : 1);
          wait();
          moved.fetch_add(std::this_thread::get_id() == here ? 0 : 1);
        });
      }
      wait();
    });
  }
  runtime.wait();
  EXPECT_EQ(moved.load(), 0);
}

}  // namespace
}  // namespace dovetail::test
