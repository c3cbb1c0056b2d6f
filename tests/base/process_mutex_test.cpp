// The child of a fork must find no lock that a thread holds which it does not have.
#include "base/process_mutex.hpp"
#include "base/last_resort.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

namespace dovetail::base {
namespace {

// What parent and child see of each other.
struct Shared {
  std::atomic<bool> forking{false};
  std::atomic<bool> child_runs{false};
};
Shared* shared = nullptr;

Shared& make_shared_memory() {
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  return *new (memory) Shared;
}

// Exit status of a child that locks and unlocks; an alarm ends one that waits for ever. No thread is made there.
template <class Mutex>
int fork_and_lock(Mutex& mutex) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(test::last_resort_seconds);
    if (shared != nullptr) {
      shared->child_runs.store(true);
    }
    {
      const std::lock_guard lock(mutex);
    }
    // Not `_exit`: ThreadSanitizer would report there that the threads of the parent were not joined.
    syscall(SYS_exit_group, 42);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(ProcessMutexTest, TheChildOfAForkCanLockWhatAnotherThreadHeld) {
  ProcessMutex mutex;
  // Registered later than that of the mutexes, hence called earlier.
  static const int registered = pthread_atfork(
      [] {
        if (shared != nullptr) {
          shared->forking.store(true);
        }
      },
      nullptr, nullptr);
  ASSERT_EQ(registered, 0);
  for (int round = 0; round < 5; ++round) {
    shared = &make_shared_memory();
    std::atomic<bool> held{false};
    std::thread holder([&] {
      const std::lock_guard lock(mutex);
      held.store(true);
      while (!shared->forking.load()) {
        std::this_thread::yield();
      }
      // A fork that does not wait for the lock shows itself by a child that runs. One that does is let go in the end.
      const auto patience = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
      while (!shared->child_runs.load() && std::chrono::steady_clock::now() < patience) {
        std::this_thread::yield();
      }
    });
    while (!held.load()) {
      std::this_thread::yield();
    }
    const int status = fork_and_lock(mutex);
    holder.join();
    munmap(shared, sizeof(Shared));
    shared = nullptr;
    ASSERT_EQ(status, 42) << round;
  }
}

TEST(ProcessMutexTest, NestedInEitherOrderOfMaking) {
  ProcessMutex one, two;
  ProcessMutex three, four;  // others, lest the two orders be taken for a mistake
  std::atomic<bool> over{false};
  std::atomic<long> nested{0};
  const auto nest = [&](ProcessMutex& outer, ProcessMutex& inner) {
    const std::lock_guard outer_lock(outer);
    std::this_thread::yield();
    const std::lock_guard inner_lock(inner);
    nested.fetch_add(1);
  };
  for (const bool ascending : {true, false}) {
    ProcessMutex& first = ascending ? one : three;
    ProcessMutex& second = ascending ? two : four;
    over.store(false);
    nested.store(0);
    std::thread other([&] {
      while (!over.load()) {
        ascending ? nest(first, second) : nest(second, first);
        const ProcessMutex made_meanwhile;
      }
    });
    for (int round = 0; round < 20; ++round) {
      const long before = nested.load();
      EXPECT_EQ(fork_and_lock(round % 2 == 0 ? first : second), 42);
      while (nested.load() == before) {
        std::this_thread::yield();
      }
    }
    over.store(true);
    other.join();
  }
}

TEST(ProcessMutexTest, OneThatIsGoneIsLeftAlone) {
  ProcessMutex before;
  auto gone = std::make_unique<ProcessMutex>();
  ProcessMutex after;
  gone.reset();
  EXPECT_EQ(fork_and_lock(before), 42);
  EXPECT_EQ(fork_and_lock(after), 42);
  const std::scoped_lock both(before, after);
}

}  // namespace
}  // namespace dovetail::base
