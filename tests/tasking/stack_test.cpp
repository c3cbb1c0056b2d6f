// Code that was written for threads runs on the stacks of tasks, and one that needs more is told so.
#include <sys/resource.h>

#include <cstring>
#include <fstream>

#include "base/sanitizer.hpp"
#include "support.hpp"

namespace dovetail::test {
namespace {

// Uses that much of the stack across a pause, and returns whether it is as it was.
template <std::size_t Bytes>
[[gnu::noinline]] bool keeps_its_array(int value) {
  volatile char array[Bytes];
  std::memset(const_cast<char*>(array), value, Bytes);
  this_task::yield();
  for (std::size_t i = 0; i < Bytes; i += 64) {
    if (array[i] != static_cast<char>(value)) {
      return false;
    }
  }
  return true;
}

// Nothing between its caller's frame and the lowest byte of its own is touched, which is beyond a small guard.
template <std::size_t bytes>
[[gnu::noinline]] void touches_the_far_end() {
  [[maybe_unused]] volatile char array[bytes];
  array[0] = 1;
}

void recurse_too_deep() {
  std::function<int(int)> recurse = [&](int depth) { return depth == 0 ? 0 : 1 + recurse(depth - 1) % 7; };
  recurse(100'000'000);
}

TEST(StackTest, LargeLocalArraysOfManyTasks) {
  Runtime runtime(Options{.workers = 2});
  std::atomic<int> whole{0};
  for (int i = 0; i < 40; ++i) {
    runtime.spawn([&, i] {
      const bool kept = i % 2 == 0 ? keeps_its_array<320 * 1024>(i) : keeps_its_array<480 * 1024>(i);
      whole.fetch_add(kept ? 1 : 0);
    });
  }
  runtime.wait();
  EXPECT_EQ(whole.load(), 40);
}

// A body that is run on top of another has room, too.
TEST(StackTest, LargeLocalArraysDeepInARecursion) {
  Runtime runtime(Options{.workers = 1});
  std::atomic<int> whole{0};
  std::function<void(int)> recurse = [&](int depth) {
    whole.fetch_add(keeps_its_array<400 * 1024>(depth) ? 1 : 0);
    if (depth > 0) {
      spawn([&, depth] { recurse(depth - 1); });
      wait();
    }
  };
  runtime.spawn([&] { recurse(300); });
  runtime.wait();
  EXPECT_EQ(whole.load(), 301);
}

TEST(StackTest, AnOverflowNamesTheTask) {
#if DOVETAIL_ADDRESS_SANITIZER || DOVETAIL_THREAD_SANITIZER
  GTEST_SKIP() << "the sanitizer reports the fault in its own way";
#endif
  // By one frame that is too large, and by many small ones.
  for (const bool at_once : {true, false}) {
    const auto outcome = run_in_child([&] {
      Runtime runtime(Options{.workers = 1});
      runtime.spawn({.label = "the deep one"}, [&] {
        if (at_once) {
          touches_the_far_end<1280 * 1024>();
        } else {
          recurse_too_deep();
        }
      });
      runtime.wait();
      return 1;
    });
    EXPECT_EQ(outcome.status, -SIGSEGV) << outcome.error;
    EXPECT_NE(outcome.error.find("task 'the deep one' has run out of its stack of 102"), std::string::npos)
        << outcome.error;
    EXPECT_NE(outcome.error.find("DOVETAIL_STACK_SIZE"), std::string::npos) << outcome.error;
  }
}

// It runs on the stack of its thread.
TEST(StackTest, AnOverflowOfAnIoTaskNamesItToo) {
#if DOVETAIL_ADDRESS_SANITIZER || DOVETAIL_THREAD_SANITIZER
  GTEST_SKIP() << "the sanitizer reports the fault in its own way";
#endif
  const auto outcome = run_in_child([&] {
    Runtime runtime(Options{.workers = 1});
    runtime.spawn({.label = "the deep one", .io = true}, [&] { recurse_too_deep(); });
    runtime.wait();
    return 1;
  });
  EXPECT_EQ(outcome.status, -SIGSEGV) << outcome.error;
  EXPECT_NE(outcome.error.find("task 'the deep one' has run out of the stack of its thread"), std::string::npos)
      << outcome.error;
}

TEST(StackTest, ARuntimeThatGetsNoStacksIsAnException) {
#if DOVETAIL_ADDRESS_SANITIZER || DOVETAIL_THREAD_SANITIZER
  GTEST_SKIP() << "the sanitizer needs more address space than any limit";
#endif
  int refused = 0;
  for (const rlim_t mebibytes : {0, 1, 4, 8, 16, 24, 32, 48, 64, 96, 128, 256}) {
    const auto outcome = run_in_child([mebibytes] {
      unsigned long pages = 0;
      std::ifstream("/proc/self/statm") >> pages;
      const rlim_t most = pages * static_cast<rlim_t>(getpagesize()) + (mebibytes << 20U);
      const rlimit limit{most, most};
      setrlimit(RLIMIT_AS, &limit);
      try {
        Runtime runtime(Options{.workers = 2});
        runtime.spawn([] {}).get();
      } catch (const std::exception&) {
        return 3;
      }
      return 0;
    });
    EXPECT_TRUE(outcome.status == 0 || outcome.status == 3)
        << mebibytes << " MiB: " << outcome.status << ", " << outcome.error;
    refused += outcome.status == 3 ? 1 : 0;
  }
  EXPECT_GT(refused, 0);
}

void end_process(int /*signal*/) { _exit(77); }

TEST(StackTest, AHandlerOfTheProgramComesAfterTheMessage) {
#if DOVETAIL_ADDRESS_SANITIZER || DOVETAIL_THREAD_SANITIZER
  GTEST_SKIP() << "the sanitizer reports the fault in its own way";
#endif
  // In a process that has had no runtime, since Dovetail's handler is installed once.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        std::signal(SIGSEGV, &end_process);
        Runtime runtime(Options{.workers = 1});
        // No overflow: the handler of the program sees it as if there were no runtime, and nothing is said.
        runtime.spawn([] { *reinterpret_cast<volatile int*>(16) = 1; });
        runtime.wait();
      },
      testing::ExitedWithCode(77), "^$");
}

TEST(StackTest, MemoryIsGivenBackWhenItIsNotNeeded) {
#if DOVETAIL_ADDRESS_SANITIZER || DOVETAIL_THREAD_SANITIZER
  GTEST_SKIP() << "the sanitizer keeps memory of its own for each stack";
#endif
  Runtime runtime(Options{.workers = 2, .pending_limit = 100'000});
  runtime.spawn([] { keeps_its_array<64 * 1024>(1); }).wait();
  const std::size_t before = resident_bytes();
  const std::size_t count = 1'000;
  std::atomic<std::size_t> paused{0};
  std::atomic<bool> go{false};
  for (std::size_t i = 0; i < count; ++i) {
    runtime.spawn([&] {
      keeps_its_array<400 * 1024>(1);
      paused.fetch_add(1);
      await_in_task([&] { return go.load(); });
    });
  }
  await([&] { return paused.load() == count; });
  EXPECT_GE(resident_bytes(), before + count * 300 * 1024);
  go = true;
  runtime.wait();
  // Within some seconds, while the program does nothing.
  await([&] { return resident_bytes() < before + (20U << 20); });
}

}  // namespace
}  // namespace dovetail::test
