// Time passes while all workers compute: timers and polling functions do not wait for the end of a body.
#include <sys/resource.h>

#include "support.hpp"

namespace dovetail::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr PollingRate fast{microseconds(100), microseconds(500)};

// Computes until the function has been called so many times more.
class Poller {
 public:
  explicit Poller(Runtime& runtime) : service_(runtime, "poller", fast, [this] { return poll(); }) {
    service_.add_pending();
  }
  void compute_until_called(int times) const {
    const int until = calls_.load() + times;
    while (calls_.load() < until) {
    }
  }
  int calls() const { return calls_.load(); }
  void stop() {
    stopping_ = true;
    await([&] { return service_.pending() == 0; });
  }

 private:
  std::size_t poll() {
    calls_.fetch_add(1);
    return stopping_.load() ? 1 : 0;
  }
  std::atomic<int> calls_{0};
  std::atomic<bool> stopping_{false};
  PollingService service_;
};

TEST(TimeTest, APollingFunctionIsCalledWhileAllWorkersCompute) {
  for (unsigned workers = 1; workers <= 3; ++workers) {
    Runtime runtime(Options{.workers = workers});
    Poller poller(runtime);
    for (unsigned i = 0; i < workers; ++i) {
      runtime.spawn([&] { poller.compute_until_called(20); });
    }
    runtime.wait();
    EXPECT_GE(poller.calls(), 20);
    poller.stop();
  }
}

// Each wait has an earlier deadline than the one until which the timer thread sleeps, so the wait has to wake that thread. If it did not, each wait
// would take until something else wakes the thread, after a second or never. All together would take longer than a test may. While a task waits for
// a descriptor, the timer thread sleeps in `epoll_wait`.
TEST(TimeTest, ManyWaitsWhileNothingElseWakesAnybody) {
  for (const bool beside_a_descriptor : {false, true}) {
    Runtime runtime(Options{.workers = 2, .report_after = std::chrono::seconds(0)});
    std::array<int, 2> silent{};
    ASSERT_EQ(pipe(silent.data()), 0);
    if (beside_a_descriptor) {
      runtime.spawn([&] { this_task::wait_readable(silent[0]); });
    }
    int over = 0;
    runtime
        .spawn([&] {
          for (int i = 0; i < 1'000; ++i) {
            this_task::wait_for(microseconds(300));
            ++over;
          }
        })
        .wait();
    EXPECT_EQ(over, 1'000);
    close(silent[1]);  // the end of the pipe is something to read
    runtime.wait();
    close(silent[0]);
  }
}

TEST(TimeTest, AnEventOfAPollingFunctionEndsATaskWhileAllWorkersCompute) {
  Runtime runtime(Options{.workers = 1});
  std::atomic<bool> completed{false};
  PendingOperation operation;
  std::atomic<bool> bound{false};
  std::atomic<int> calls{0};
  PollingService service(runtime, "poller", fast, [&] {
    if (bound.load() && calls.fetch_add(1) == 5) {
      operation.complete();
    }
    return std::size_t{0};
  });
  auto task = runtime.spawn([&] {
    operation = service.expect("the fifth call");
    operation.bind();
    bound = true;
  });
  runtime.spawn([&] {
    while (!completed.load()) {
    }
  });
  task.wait();
  completed = true;
  runtime.wait();
}

// What is due is done in the order of the deadlines. So when the poller has been called twice after the deadline of the sleeper, the sleeper
// has been woken. It goes on before another body begins.
TEST(TimeTest, ATaskThatHasSleptGoesOnAfterTheBodyThatRuns) {
  Runtime runtime(Options{.workers = 1});
  Poller poller(runtime);
  std::atomic<bool> sleeping{false};
  std::atomic<bool> awake{false};
  std::atomic<int> late{0};
  runtime.spawn([&] {
    sleeping = true;
    this_task::wait_for(milliseconds(2));
    awake = true;
  });
  await([&] { return sleeping.load(); });
  runtime.spawn([&] {
    // The only worker is here, so the other one sleeps: before, the worker may have been interrupted for any time.
    const auto over = std::chrono::steady_clock::now() + milliseconds(3);
    for (int i = 0; i < 1'000; ++i) {
      spawn([&, over] {
        late.fetch_add(!awake.load() && std::chrono::steady_clock::now() > over ? 1 : 0);
        if (!awake.load()) {
          poller.compute_until_called(2);
        }
      });
    }
  });
  runtime.wait();
  // One that was running, and one that began before the sleeper was woken.
  EXPECT_LE(late.load(), 2);
  poller.stop();
}

TEST(TimeTest, ASleepInAnIoTask) {
  Runtime runtime(Options{.workers = 1});
  auto slept = runtime.spawn({.io = true}, [] { return this_task::wait_for(milliseconds(3)); });
  EXPECT_GE(slept.get(), milliseconds(3));
}

// When all running I/O tasks have waited for a while, the runtime starts one more. All workers compute here, so only the reactor can start it.
TEST(TimeTest, MoreIoTasksRunWhileAllWorkersCompute) {
  constexpr int io_tasks = 8;
  for (unsigned workers = 1; workers <= 2; ++workers) {
    Runtime runtime(Options{.workers = workers});
    std::atomic<int> begun{0};
    std::atomic<unsigned> computing{0};
    for (unsigned i = 0; i < workers; ++i) {
      runtime.spawn([&] {
        ++computing;
        while (begun.load() < io_tasks) {
        }
      });
    }
    await([&] { return computing.load() == workers; });
    for (int i = 0; i < io_tasks; ++i) {
      runtime.spawn({.io = true}, [&] {
        ++begun;
        begun.notify_all();
        for (int seen = begun.load(); seen < io_tasks; seen = begun.load()) {
          begun.wait(seen);
        }
      });
    }
    runtime.wait();
  }
}

// A process that has no descriptors left keeps time all the same.
TEST(TimeTest, WithoutDescriptors) {
  const auto outcome = run_in_child([] {
    const rlimit limit{3, 3};
    setrlimit(RLIMIT_NOFILE, &limit);
    Runtime runtime(Options{.workers = 1});
    Poller poller(runtime);
    runtime.spawn([&] { poller.compute_until_called(20); }).get();
    runtime.spawn([] { this_task::wait_for(milliseconds(2)); }).get();
    poller.stop();
    try {
      runtime.spawn([] { this_task::wait_readable(STDIN_FILENO); }).get();
    } catch (const TaskFailed& failed) {
      std::fprintf(stderr, "%s\n", failed.what());
      return 42;
    }
    return 1;
  });
  EXPECT_EQ(outcome.status, 42) << outcome.error;
  EXPECT_NE(outcome.error.find("Too many open files"), std::string::npos) << outcome.error;
}

}  // namespace
}  // namespace dovetail::test
