// Which threads poll a service: a worker that lingers before it sleeps, and a worker between two bodies. None does before the service asks for
// it.
#include <atomic>
#include <memory>
#include <mutex>

#include "support.hpp"
#include "tasking/pause.hpp"
#include "tasking/service.hpp"

namespace dovetail::tasking {
namespace {

using std::chrono::hours;
using std::chrono::nanoseconds;

// An operation that ends when a worker has polled for it so many times. The thread that keeps time comes once an hour.
class Polled final : public Service {
 public:
  explicit Polled(detail::RuntimeCore& core) : core_(core) {}

  unsigned poll(unsigned /*worker*/, PollScope /*scope*/) override {
    polls.fetch_add(1);
    Task* ended = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_ != nullptr && (anybody || current_worker() >= 0) && --polls_left_ == 0) {
        ended = std::exchange(waiting_, nullptr);
      }
    }
    if (ended == nullptr) {
      return 0;
    }
    ended_at = __builtin_frame_address(0);
    in_flight_.store(0);
    is_paused_ ? wake(ended) : fulfill_event(ended);
    return 1;
  }
  void flush(unsigned /*worker*/) override {}
  std::size_t in_flight() const noexcept override { return in_flight_.load(); }
  nanoseconds poll_interval() const noexcept override { return interval; }
  bool on_demand() const noexcept override { return true; }
  nanoseconds linger() noexcept override { return in_flight_.load() > 0 || always ? lingering : nanoseconds{}; }
  void lingered(bool found) noexcept override { (found ? found_ : in_vain_).fetch_add(1); }

  /// The task completes when it has ended.
  void start(int polls_of_workers) { start(bind_event(), false, polls_of_workers); }
  /// The task pauses until it has ended.
  void pause(int polls_of_workers) {
    Task* const task = current_task();
    prepare_pause(task);
    start(task, true, polls_of_workers);
    tasking::pause(task, WaitReason::operation);
  }

  void end_at_next_poll() {
    const std::lock_guard lock(mutex_);
    polls_left_ = 1;
  }

  static constexpr int most = 2'000'000'000;
  std::atomic<unsigned> polls{0};
  void* ended_at = nullptr;  ///< On the stack of the last poll that has ended one.
  nanoseconds interval = hours(1);
  nanoseconds lingering{};
  std::atomic<bool> always{false};  ///< Workers linger with nothing in flight, too.
  bool anybody = false;             ///< Polls of the thread that keeps time count, too.
  unsigned found() const noexcept { return found_.load(); }
  unsigned in_vain() const noexcept { return in_vain_.load(); }

 private:
  void start(Task* task, bool is_paused, int polls_of_workers) {
    {
      const std::lock_guard lock(mutex_);
      waiting_ = task;
      is_paused_ = is_paused;
      polls_left_ = polls_of_workers;
    }
    in_flight_.store(1);
    begin_polling(core_);
  }

  detail::RuntimeCore& core_;
  std::mutex mutex_;
  bool is_paused_ = false;
  Task* waiting_ = nullptr;
  int polls_left_ = 0;
  std::atomic<std::size_t> in_flight_{0};
  std::atomic<unsigned> found_{0};
  std::atomic<unsigned> in_vain_{0};
};

// Of the runtime that was made last.
Polled* polled = nullptr;
const bool registered = register_service(&polled, [](detail::RuntimeCore& core, const Options&, unsigned) {
  auto made = std::make_unique<Polled>(core);
  polled = made.get();
  return made;
});

class LingerTest : public testing::TestWithParam<unsigned> {};

TEST_P(LingerTest, AnIdleWorkerPollsInsteadOfSleeping) {
  ASSERT_TRUE(registered);
  Runtime runtime(Options{.workers = GetParam()});
  polled->lingering = hours(1);
  for (int i = 0; i < 20; ++i) {
    runtime.spawn([] { polled->start(1'000); }).get();
  }
  EXPECT_GE(polled->found(), 1U);
  EXPECT_EQ(polled->in_vain(), 0U);
}

// Other work ends the lingering, whichever thread brings it.
TEST_P(LingerTest, TheWorkerThatLingersTakesWhatComes) {
  Runtime runtime(Options{.workers = GetParam()});
  polled->lingering = hours(1);
  auto waits = runtime.spawn([] { polled->start(Polled::most); });
  for (int i = 0; i < 100; ++i) {
    runtime.spawn([] { spawn([] {}); }).get();
  }
  EXPECT_FALSE(waits.ready());
  polled->end_at_next_poll();
  waits.get();
}

TEST_P(LingerTest, TheWorkerThatLingersForAPausedTaskTakesWhatComes) {
  Runtime runtime(Options{.workers = GetParam()});
  polled->lingering = hours(1);
  auto waits = runtime.spawn([] { polled->pause(Polled::most); });
  for (int i = 0; i < 100; ++i) {
    runtime.spawn([] { spawn([] {}); }).get();
    runtime.spawn({.tied = true}, [] { this_task::yield(); }).get();
  }
  EXPECT_FALSE(waits.ready());
  polled->end_at_next_poll();
  waits.get();
}

// Else each message would cost two switches and the way through the scheduler.
TEST(PausedTaskTest, WithNothingElseToDoItsWorkerPollsOnItsStack) {
  Runtime runtime(Options{.workers = 1});
  polled->lingering = hours(1);
  for (int i = 0; i < 20; ++i) {
    const std::ptrdiff_t below =
        runtime
            .spawn([] {
              polled->pause(100);
              return static_cast<char*>(__builtin_frame_address(0)) - static_cast<char*>(polled->ended_at);
            })
            .get();
    EXPECT_GT(below, 0);
    EXPECT_LT(below, 16 << 10);
  }
}

TEST(PausedTaskTest, AReadyTaskGoesFirst) {
  Runtime runtime(Options{.workers = 1});
  polled->lingering = hours(1);
  bool ran = false;
  runtime
      .spawn([&ran] {
        spawn([&ran] {
          ran = true;
          polled->end_at_next_poll();
        });
        polled->pause(Polled::most);
      })
      .get();
  EXPECT_TRUE(ran);
}

TEST_P(LingerTest, TheEndOfTheRuntimeEndsIt) {
  auto runtime = std::make_unique<Runtime>(Options{.workers = GetParam()});
  polled->lingering = hours(1);
  polled->always = true;
  runtime->spawn([] { polled->start(100); }).get();
  runtime.reset();
}

TEST(OnDemandTest, NobodyPollsBeforeTheServiceAsksForIt) {
  Runtime runtime(Options{.workers = 1});
  const unsigned idle = polled->polls;
  runtime
      .spawn([&] {
        for (int i = 0; i < 1'000; ++i) {
          this_task::yield();
        }
      })
      .get();
  EXPECT_LE(polled->polls - idle, 100U) << "only a worker that has nothing to do polls";
}

TEST(OnDemandTest, AWorkerPollsBetweenTwoBodiesWhenItIsTime) {
  Runtime runtime(Options{.workers = 1});
  polled->interval = std::chrono::microseconds(1);
  std::atomic<bool> completed{false};
  auto waits = runtime.spawn([] { polled->start(1'000); });
  runtime.spawn([&] {
    while (!completed.load()) {
      this_task::yield();  // the worker is never idle
    }
  });
  waits.get();
  completed = true;
  runtime.wait();
}

// Wherever the poll is made: what it makes ready is run.
TEST_P(LingerTest, WhatAPollDeliversIsNotSleptOn) {
  Runtime runtime(Options{.workers = GetParam(), .report_after = std::chrono::seconds(0)});
  polled->anybody = true;
  polled->interval = nanoseconds(1);
  const std::size_t rounds = test::scaled(5'000, 500);
  for (std::size_t i = 0; i < rounds; ++i) {
    int value = 0;
    runtime.spawn({.access = {out(value)}}, [i] { polled->start(1 + static_cast<int>(i % 5)); });
    runtime.spawn({.access = {in(value)}}, [] {}).get();
    runtime.spawn([i] { polled->pause(1 + static_cast<int>(i % 5)); }).get();
  }
}

INSTANTIATE_TEST_SUITE_P(, LingerTest, testing::Values(1U, 2U, 3U));

}  // namespace
}  // namespace dovetail::tasking
