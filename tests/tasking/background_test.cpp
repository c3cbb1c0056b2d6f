// Work of the process as a whole. It runs in the program's runtime, or in one that is made for it. None of it is lost when a runtime ends.
#include "tasking/background.hpp"

#include <future>

#include "base/clock.hpp"
#include "base/last_resort.hpp"
#include "base/sanitizer.hpp"
#include "support.hpp"
#include "tasking/core.hpp"
#include "tasking/hosting.hpp"
#include "tasking/pause.hpp"

namespace dovetail::test {
namespace {

using base::Clock;
using tasking::call_in_background;
using tasking::end_background;
using tasking::spawn_in_background;

const TaskDescription io{.label = "in the background", .io = true, .on_failure = ignore_failure};

class BackgroundTest : public testing::Test {
 protected:
  void TearDown() override { end_background(); }

  // Where a task of the background runs.
  static detail::RuntimeCore* host() {
    const auto found = std::make_shared<std::promise<detail::RuntimeCore*>>();
    EXPECT_TRUE(spawn_in_background(io, [found] { found->set_value(tasking::current_runtime()); }));
    return found->get_future().get();
  }
};

TEST_F(BackgroundTest, WorkRunsInTheRuntimeOfTheProgram) {
  Runtime program(Options{.workers = 1});
  EXPECT_EQ(host(), &program.core());
}

TEST_F(BackgroundTest, AProgramWithoutARuntimeGetsOneThatEndsWhenItIsTold) {
  detail::RuntimeCore* const own = host();
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(host(), own);
  Runtime program(Options{.workers = 1});
  EXPECT_EQ(host(), &program.core()) << "from now on the program has one";
  std::atomic<int> ran{0};
  for (int i = 0; i < 100; ++i) {
    spawn_in_background(io, [&] { ran.fetch_add(1); });
  }
  program.wait();
  end_background();
  EXPECT_EQ(ran.load(), 100);
}

TEST_F(BackgroundTest, ATaskOfOneOfSeveralRuntimesUsesItsOwn) {
  Runtime first(Options{.workers = 1});
  Runtime second(Options{.workers = 1});
  EXPECT_EQ(second.spawn({.io = true}, [] { return host(); }).get(), &second.core());
}

TEST_F(BackgroundTest, AnEndingRuntimeFinishesWhatItHasTakenAndTakesNoMore) {
  std::atomic<bool> over{false};
  std::atomic<std::size_t> spawned{0};
  std::atomic<std::size_t> ran{0};
  std::thread library([&] {
    while (!over.load()) {
      if (spawn_in_background(io, [&] { ran.fetch_add(1); })) {
        spawned.fetch_add(1);
      }
      if (spawned.load() - ran.load() > 100) {
        std::this_thread::yield();
      }
    }
  });
  for (std::size_t round = 0; round < scaled(50, 10); ++round) {
    const Runtime program(Options{.workers = 1});
    await([&, before = ran.load()] { return ran.load() > before; });
  }
  over.store(true);
  library.join();
  end_background();
  EXPECT_EQ(ran.load(), spawned.load());
}

TEST_F(BackgroundTest, ACallComesAtItsTime) {
  const Runtime program(Options{.workers = 1});
  const auto came = std::make_shared<std::promise<base::TimePoint>>();
  const base::TimePoint due = Clock::now() + std::chrono::milliseconds(5);
  ASSERT_TRUE(call_in_background(due, [came] { came->set_value(Clock::now()); }));
  EXPECT_GE(came->get_future().get(), due);
}

TEST_F(BackgroundTest, ACallIsMadeBeforeItsTimeByARuntimeThatEnds) {
  std::atomic<int> calls{0};
  {
    const Runtime program(Options{.workers = 1});
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(call_in_background(Clock::now() + std::chrono::hours(1), [&] { calls.fetch_add(1); }));
    }
    EXPECT_EQ(calls.load(), 0);
  }
  EXPECT_EQ(calls.load(), 3);
}

TEST_F(BackgroundTest, ACallMayAskForTheNextOneWhileTheRuntimeEnds) {
  std::atomic<int> calls{0};
  {
    const Runtime program(Options{.workers = 1});
    ASSERT_TRUE(call_in_background(Clock::now() + std::chrono::hours(1), [&] {
      calls.fetch_add(1);
      call_in_background(Clock::now(), [&] { calls.fetch_add(1); });
    }));
  }
  await([&] { return calls.load() == 2; });
}

TEST_F(BackgroundTest, WithoutARuntimeThereIsNoHost) {
  EXPECT_FALSE(tasking::with_host(nullptr, [](detail::RuntimeCore&) { FAIL(); }));
  EXPECT_FALSE(tasking::call_on_host(nullptr, Clock::now(), [] { FAIL(); }));
}

TEST_F(BackgroundTest, ThreadsOfItsOwnRuntimeTakeNoSignalsOfTheProgram) {
  const auto blocked = std::make_shared<std::promise<bool>>();
  spawn_in_background(io, [blocked] {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    blocked->set_value(sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGUSR1) == 1);
  });
  EXPECT_TRUE(blocked->get_future().get());
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGTERM), 0) << "those of the program do";
}

TEST_F(BackgroundTest, TheChildOfAForkHasARuntimeOfItsOwnAndNoCallsOfTheParent) {
#if DOVETAIL_ADDRESS_SANITIZER
  GTEST_SKIP() << "g++ 12's AddressSanitizer does not release the locks of its allocator in the child of a fork";
#endif
  const char* sanitizer = std::getenv("DOVETAIL_SANITIZE");
  if (sanitizer != nullptr && std::string(sanitizer) == "thread") {
    GTEST_SKIP() << "ThreadSanitizer allows no threads in the child of a fork";
  }
  static std::atomic<int> calls{0};  // the end of the runtime calls it, after this function
  call_in_background(Clock::now() + std::chrono::hours(1), [] { calls.fetch_add(1); });
  detail::RuntimeCore* const of_parent = host();
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(last_resort_seconds);
    const bool other = host() != of_parent;
    end_background();
    _exit(other && calls == 0 ? 42 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
  EXPECT_EQ(host(), of_parent);
}

}  // namespace
}  // namespace dovetail::test
