// Signals for the process find the program's own threads.
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "support.hpp"

namespace dovetail::test {
namespace {

std::atomic<pid_t> taken_by{0};

void take(int /*signal*/) { taken_by.store(static_cast<pid_t>(syscall(SYS_gettid))); }

// While the program's threads block a signal it stays pending: no thread of the runtime's own takes it for them.
TEST(SignalTest, TheThreadThatKeepsTimeTakesNone) {
  struct sigaction action{};
  action.sa_handler = take;
  struct sigaction before{};
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGUSR1);
  {
    Runtime runtime(Options{.workers = 1});
    pthread_sigmask(SIG_BLOCK, &one, nullptr);
    runtime
        .spawn({.tied = true},
               [&] {
                 pthread_sigmask(SIG_BLOCK, &one, nullptr);
                 taken_by.store(0);
                 kill(getpid(), SIGUSR1);
                 for (int i = 0; i < 10; ++i) {
                   this_task::wait_for(std::chrono::milliseconds(1));  // the thread that keeps time runs
                 }
                 EXPECT_EQ(taken_by.load(), 0);
                 pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
                 EXPECT_EQ(taken_by.load(), static_cast<pid_t>(syscall(SYS_gettid)));
               })
        .get();
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  }
  sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace dovetail::test
