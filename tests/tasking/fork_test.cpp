// A fork in the middle: the child has no workers and is told so; it may make a runtime of its own.
#include "base/last_resort.hpp"
#include "base/sanitizer.hpp"
#include "support.hpp"

namespace dovetail::test {
namespace {

bool thread_sanitizer() {
  const char* sanitizer = std::getenv("DOVETAIL_SANITIZE");
  return sanitizer != nullptr && std::string(sanitizer) == "thread";
}

// Forks while the runtime works. Returns the exit status of the child, which hangs at most until an alarm ends it.
template <class Child>
int fork_while_busy(Child&& child) {
  Runtime runtime(Options{.workers = 2});
  std::atomic<bool> over{false};
  std::atomic<int> ran{0};
  std::thread feeder([&] {
    while (!over.load()) {
      for (int i = 0; i < 100; ++i) {
        runtime.spawn([&] { ran.fetch_add(1); });
      }
      std::this_thread::yield();
    }
  });
  await([&] { return ran.load() > 1'000; });
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(last_resort_seconds);
    _exit(child(runtime));
  }
  int status = 0;
  waitpid(pid, &status, 0);
  over.store(true);
  feeder.join();
  runtime.wait();
  // The parent has noticed nothing.
  EXPECT_EQ(runtime.spawn([] { return 5; }).get(), 5);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(ForkTest, TheRuntimeOfTheParentSaysThatItIsUnusable) {
  const int status = fork_while_busy([](Runtime& runtime) {
    try {
      runtime.spawn([] {});
      return 1;
    } catch (const std::logic_error& error) {
      if (std::string(error.what()).find("fork") == std::string::npos) {
        return 2;
      }
    }
    try {
      runtime.wait();
      return 3;
    } catch (const std::logic_error&) {
    }
    return 42;
  });
  EXPECT_EQ(status, 42);
}

TEST(ForkTest, ARuntimeOfItsOwnWorks) {
#if DOVETAIL_ADDRESS_SANITIZER
  // Found in a debugger: the child waits for a lock of the sanitizer's own allocator, held by a thread that is not there.
  GTEST_SKIP() << "g++ 12's AddressSanitizer does not release the locks of its allocator in the child of a fork";
#endif
  if (thread_sanitizer()) {
    GTEST_SKIP() << "ThreadSanitizer allows no threads in the child of a fork";
  }
  for (std::size_t round = 0; round < scaled(20, 5); ++round) {
    const int status = fork_while_busy([](Runtime&) {
      std::atomic<int> ran{0};
      {
        Runtime own(Options{.workers = 2});
        for (int i = 0; i < 1'000; ++i) {
          own.spawn({.label = "in the child"}, [&] {
            this_task::yield();
            ran.fetch_add(1);
          });
        }
        own.wait();
      }
      return ran.load() == 1'000 ? 42 : 1;
    });
    ASSERT_EQ(status, 42) << round;
  }
}

TEST(ForkTest, FromInsideOfATask) {
  Runtime runtime(Options{.workers = 2});
  auto future = runtime.spawn([&] {
    const pid_t pid = fork();
    if (pid == 0) {
      alarm(last_resort_seconds);
      int status = 42;
      try {
        spawn([] {});
        status = 1;
      } catch (const std::logic_error&) {
      }
      try {
        runtime.spawn([] {});
        status = 2;
      } catch (const std::logic_error&) {
      }
      if (this_task::active()) {
        status = 3;
      }
      _exit(status);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  });
  EXPECT_EQ(future.get(), 42);
}

TEST(ForkTest, DestroyingTheRuntimeInTheChildReturns) {
  auto* runtime = new Runtime(Options{.workers = 2});
  auto future = runtime->spawn([] { return 3; });
  EXPECT_EQ(future.get(), 3);
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(last_resort_seconds);
    delete runtime;
    _exit(future.get() == 3 ? 42 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
  delete runtime;
}

}  // namespace
}  // namespace dovetail::test
