// Waits that the runtime cannot end by itself are reported, and no task fails for it.
#include "tasking/long_waits.hpp"

#include <algorithm>
#include <unordered_set>

#include "support.hpp"
#include "tasking/core.hpp"
#include "tasking/quiet.hpp"

namespace dovetail::test {
namespace {

// In a child: the parent has read the report.
void wait_for_parent() {
  char go = 0;
  while (read(STDIN_FILENO, &go, 1) < 0) {
  }
}

using std::chrono::milliseconds;

TEST(LongWaitTest, SaysWhatWaitsForWhat) {
  const auto outcome = run_in_child(
      [] {
        const Pipe pipe;
        Pipe wake;
        Runtime runtime(Options{.workers = 2, .report_after = milliseconds(50)});
        PollingService service(runtime, "messages", {}, [] { return std::size_t{0}; });
        PendingOperation paused = service.expect("a message of rank 1, tag 3");
        PendingOperation bound = service.expect("a message of rank 2, tag 4");
        TaskHandle handle;
        runtime.spawn({.label = "receiver"}, [&] { paused.wait(); });
        runtime.spawn({.label = "bound receiver"}, [&] { bound.bind(); });
        runtime.spawn({.label = "pipe reader"}, [&] { this_task::wait_readable(pipe.reader()); });
        runtime.spawn({.label = "sleeper"}, [&] {
          handle = this_task::handle();
          this_task::suspend();
        });
        // The parent has read the report when it lets them go.
        std::thread outside([&] {
          wait_for_parent();
          paused.complete();
          bound.complete();
          pipe.write_one('x');
          handle.resume();
        });
        runtime.wait();
        outside.join();
        return 42;
      },
      "task 'sleeper' is suspended");
  EXPECT_EQ(outcome.status, 42) << outcome.error;
  for (const char* part :
       {"task 'receiver' waits for a message of rank 1, tag 3 (polling service 'messages')",
        "task 'bound receiver' has returned and waits for a message of rank 2, tag 4",
        "task 'pipe reader' waits for descriptor", "to be readable", "task 'sleeper' is suspended"}) {
    EXPECT_NE(outcome.error.find(part), std::string::npos) << part << " is missing in:\n" << outcome.error;
  }
}

// Its own runtime has nothing under way, but the other one has.
TEST(LongWaitTest, AnOperationOfAnotherRuntimeIsNoReasonToBeStuck) {
  const auto outcome = run_in_child(
      [] {
        Runtime other(Options{.workers = 1});
        PollingService service(other, "messages", {}, [] { return std::size_t{0}; });
        PendingOperation operation = service.expect("a message");
        Runtime runtime(Options{.workers = 1, .report_after = milliseconds(500)});
        auto receiver = runtime.spawn({.label = "receiver"}, [&] { operation.wait(); });
        std::thread outside([&] {
          wait_for_parent();
          operation.complete();
        });
        receiver.get();
        outside.join();
        return 42;
      },
      "waiting for");
  EXPECT_EQ(outcome.status, 42) << outcome.error;
  EXPECT_NE(outcome.error.find("'receiver' waits for an operation of another runtime's polling service"),
            std::string::npos)
      << outcome.error;
}

// Each wait is short by itself: what has run between them counts.
TEST(LongWaitTest, BeginsAnewWhenSomethingHasRun) {
  const std::string report = "nothing has run for ";
  Runtime runtime(Options{.workers = 1, .report_after = milliseconds(200)});
  for (int wait = 0; wait < 3; ++wait) {
    const ErrorLines lines;
    const auto begin = std::chrono::steady_clock::now();
    std::atomic<Events*> events{nullptr};
    std::thread outside([&] {
      await([&] { return events.load() != nullptr && lines.text().find(report) != std::string::npos; });
      events.load()->fulfill();
    });
    runtime
        .spawn([&] {
          this_task::events().add();
          events.store(&this_task::events());
        })
        .get();
    outside.join();
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
    const std::string text = lines.text();
    EXPECT_LE(std::stod(text.substr(text.find(report) + report.size())), waited.count() + 0.05)
        << "it is told to a tenth of a second; " << text;
  }
}

// The reactor of this runtime looks after a quarter of an hour; the test looks as often as it wants, at the times that it wants.
class LookTest : public ::testing::Test {
 protected:
  ~LookTest() override {
    over_ = true;
    busy_.wait();
  }

  /// What a look at that time says.
  std::string look(base::TimePoint at) {
    const ErrorLines lines;
    EXPECT_GT(tasking::look_for_long_waits(core_, at), at);
    return lines.text();
  }
  std::string look() { return look(now_ += quarter); }
  /// A task that waits for the operation, by itself or by what it binds. Returns when it does.
  Future<void> wait_for(PendingOperation operation, bool bound = false) {
    auto task = runtime_.spawn({.label = "receiver"},
                               [operation, bound]() mutable { bound ? operation.bind() : operation.wait(); });
    await([&] { return looks_find_it(); });
    return task;
  }
  bool looks_find_it() { return waiting_tasks() > 0; }
  std::size_t waiting_tasks() {
    std::unordered_set<const detail::Task*> found;
    core_.sources->for_each_wait([&](const detail::Task* task, const tasking::WaitText&) {
      if (task->state.load() == tasking::TaskState::paused || task->state.load() == tasking::TaskState::returned) {
        found.insert(task);
      }
    });
    return found.size();
  }

  static constexpr auto report_after = std::chrono::minutes(60);
  static constexpr auto quarter = report_after / 4;
  Runtime runtime_{Options{.workers = 2, .report_after = report_after}};
  detail::RuntimeCore& core_ = runtime_.core();
  const tasking::ForeignWaits::Stay stay_{core_.foreign};
  PollingService service_{runtime_, "messages", {}, [] { return std::size_t{0}; }};
  base::TimePoint now_ = base::Clock::now();
  std::atomic<bool> over_{false};
  Future<void> busy_ = runtime_.spawn([this] {
    while (!over_) {
      std::this_thread::yield();
    }
  });
};

TEST_F(LookTest, AMessageThatDoesNotComeIsToldThoughOthersRun) {
  for (const bool bound : {false, true}) {
    PendingOperation operation = service_.expect("a message of rank 1");
    auto task = wait_for(operation, bound);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(look(), "") << "look " << i << " finds it; since the first of them not all the time has passed";
    }
    EXPECT_EQ(look(), std::string("dovetail: for more than 3600.0 s, though others ran,\n  task 'receiver' ") +
                          (bound ? "has returned and " : "") +
                          "waits for a message of rank 1 (polling service 'messages')\n");
    operation.complete();
    task.get();
    EXPECT_EQ(look(), "") << "it has come";
  }
}

TEST_F(LookTest, IsToldAgainAfterTwiceTheTimeAndSoOn) {
  const auto looks_that_tell = [&](int looks) {
    PendingOperation operation = service_.expect("a message");
    auto task = wait_for(operation);
    std::vector<int> told;
    for (int i = 0; i < looks; ++i) {
      if (!look().empty()) {
        told.push_back(i);
      }
    }
    operation.complete();
    task.get();
    return told;
  };
  EXPECT_EQ(looks_that_tell(600), (std::vector<int>{4, 8, 16, 32, 64, 128, 256, 512})) << "in quarters of the time";
  EXPECT_EQ(look(), "");
  EXPECT_EQ(looks_that_tell(9), (std::vector<int>{4, 8})) << "another wait is another matter";
}

TEST_F(LookTest, ManyShortWaitsAreNoLongOne) {
  std::atomic<int> round{0};
  std::array<PendingOperation, 3> operations;
  for (PendingOperation& operation : operations) {
    operation = service_.expect("a message");
  }
  auto task = runtime_.spawn([&] {
    for (PendingOperation& operation : operations) {
      operation.wait();
      round.fetch_add(1);
    }
  });
  for (int i = 0; i < 3; ++i) {
    await([&] { return round == i && looks_find_it(); });
    for (int j = 0; j < 4; ++j) {
      EXPECT_EQ(look(), "") << "wait " << i;
    }
    operations.at(static_cast<std::size_t>(i)).complete();
  }
  task.get();
}

TEST_F(LookTest, WhoComputesWhileItsMessageIsUnderWayIsNotNamed) {
  PendingOperation operation = service_.expect("a message");
  std::atomic<bool> bound{false};
  std::atomic<bool> go_on{false};
  auto task = runtime_.spawn([&] {
    operation.bind();
    bound = true;
    while (!go_on) {
      std::this_thread::yield();
    }
  });
  await([&] { return bound.load(); });
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(look(), "");
  }
  go_on = true;
  operation.complete();
  task.get();
}

TEST_F(LookTest, AnotherWaitIsToldThoughAnOlderOneMayLastForEver) {
  PendingOperation server = service_.expect("a connection");
  auto accepts = runtime_.spawn({.label = "server"}, [&] { server.wait(); });
  await([&] { return looks_find_it(); });
  for (int i = 0; i < 600; ++i) {
    look();
  }
  for (const int looks : {4, 36}) {  // the second time after a report, and eight times the time after it
    PendingOperation operation = service_.expect("a message");
    std::atomic<bool> begun{false};
    auto task = runtime_.spawn({.label = "receiver"}, [&] {
      begun = true;
      operation.wait();
    });
    await([&] { return begun && waiting_tasks() == 2; });
    std::string told;
    int at = -1;
    while (told.empty() && at < 100) {
      told = look();
      ++at;
    }
    EXPECT_LE(at, looks);
    EXPECT_NE(told.find("'receiver'"), std::string::npos) << told;
    EXPECT_EQ(told.find("'server'"), std::string::npos) << "it has been told: " << told;
    operation.complete();
    task.get();
  }
  server.complete();
  accepts.get();
}

TEST_F(LookTest, TheNumbersOfLooksRecur) {
  for (int number = 245; number < 256; ++number) {
    core_.long_wait_looks.number = static_cast<std::uint8_t>(std::min(number, 254));
    PendingOperation operation = service_.expect("a message");
    auto task = wait_for(operation);
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(look(), "") << number;
    }
    EXPECT_NE(look(), "") << number;
    operation.complete();
    task.get();
    EXPECT_EQ(look(), "");
  }
}

// A body may be long, and a message may be lost.
TEST_F(LookTest, OnlyASelectionThatASourceMayEndIsNamed) {
  const Pipe pipe;
  Semaphore semaphore(0);
  auto source =
      runtime_.spawn({.label = "source"}, [&] { select({semaphore, Alternative::readable(pipe.reader()), busy_}); });
  auto program = runtime_.spawn({.label = "program"}, [&] { select({semaphore, busy_}); });
  auto tasks = runtime_.spawn({.label = "tasks"}, [&] { select({busy_}); });
  await([&] {
    int found = 0;
    core_.selections.for_each_wait([&](const detail::Task* task, const tasking::WaitText&, tasking::Awaited) {
      found += task->state.load() == tasking::TaskState::paused ? 1 : 0;
    });
    return found == 3;
  });
  std::string told;
  for (int i = 0; i < 5; ++i) {
    told += look();
  }
  EXPECT_EQ(std::ranges::count(told, '\n'), 2) << "one line for a task: " << told;
  EXPECT_NE(told.find("task 'source' waits for the first of a Semaphore or Mutex, descriptor"), std::string::npos)
      << told;
  over_ = true;
  source.get();
  program.get();
  tasks.get();
}

TEST_F(LookTest, ATaskWithManyOperationsIsOneLine) {
  std::vector<PendingOperation> operations;
  for (int i = 0; i < 30; ++i) {
    operations.push_back(service_.expect("message " + std::to_string(i)));
  }
  auto task = runtime_.spawn([&] {
    for (PendingOperation& operation : operations) {
      operation.bind();
    }
  });
  await([&] { return looks_find_it(); });
  std::string told;
  for (int i = 0; i < 5; ++i) {
    told += look();
  }
  EXPECT_EQ(std::ranges::count(told, '\n'), 2) << told;
  for (PendingOperation& operation : operations) {
    operation.complete();
  }
  task.get();
}

// A look may fall between two tasks.
TEST_F(LookTest, SoItIsIfNothingRunsAtTheMoment) {
  PendingOperation operation = service_.expect("a message");
  auto task = wait_for(operation);
  over_ = true;
  busy_.wait();
  await([&] { return tasking::somebody_waits(core_); });
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(look(), "");
    core_.stuck.activity();  // something has run
  }
  EXPECT_NE(look().find("though others ran,"), std::string::npos);
  operation.complete();
  task.get();
}

TEST_F(LookTest, NothingIsSaidWhileNobodyWaits) {
  PendingOperation operation = service_.expect("a message");
  auto task = wait_for(operation);
  core_.foreign.waiting.fetch_sub(1);
  std::atomic<bool> called{false};
  task.when_completed([&] { called = true; });
  EXPECT_LT(tasking::look_for_long_waits(core_, now_), base::TimePoint::max()) << "an event loop waits";
  operation.complete();
  task.get();
  EXPECT_TRUE(called);
  operation = service_.expect("another message");
  task = wait_for(operation);
  const ErrorLines lines;
  EXPECT_EQ(tasking::look_for_long_waits(core_, now_ + report_after), base::TimePoint::max());
  EXPECT_EQ(lines.text(), "");
  core_.foreign.waiting.fetch_add(1);
  operation.complete();
  task.get();
}

// The reactor looks by itself, beside a runtime that is never idle.
TEST(LongWaitTest, TheReactorLooksThoughOthersRun) {
  const auto outcome = run_in_child(
      [] {
        Runtime runtime(Options{.workers = 2, .report_after = milliseconds(50)});
        PollingService service(runtime, "messages", {}, [] { return std::size_t{0}; });
        PendingOperation operation = service.expect("a message of rank 1");
        auto receiver = runtime.spawn({.label = "receiver"}, [&] { operation.wait(); });
        std::atomic<bool> over{false};
        runtime.spawn([&] {
          while (!over) {
            std::this_thread::yield();
          }
        });
        std::thread outside([&] {
          wait_for_parent();
          operation.complete();
        });
        receiver.get();
        over = true;
        outside.join();
        return 42;
      },
      "task 'receiver' waits for a message of rank 1");
  EXPECT_EQ(outcome.status, 42) << outcome.error;
  EXPECT_NE(outcome.error.find("for more than 0.1 s, though others ran,"), std::string::npos) << outcome.error;
}

}  // namespace
}  // namespace dovetail::test
