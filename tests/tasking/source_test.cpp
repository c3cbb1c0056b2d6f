// Sources of events that the program makes: what waits for them is woken, failed or reported, whatever the workers do meanwhile.
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "support.hpp"

namespace dovetail::test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(WaitReadableTest, ATaskWaitsAndTheWorkerDoesNot) {
  Runtime runtime(Options{.workers = 1});
  const Pipe pipe;
  std::atomic<bool> waiting{false};
  auto got = runtime.spawn([&] {
    waiting = true;
    EXPECT_TRUE(this_task::wait_readable(pipe.reader()));
    return pipe.read_one();
  });
  await([&] { return waiting.load(); });
  EXPECT_EQ(runtime.spawn([] { return 7; }).get(), 7) << "the only worker is free";
  pipe.write_one('x');
  EXPECT_EQ(got.get(), 'x');
}

TEST(WaitReadableTest, ManyTasksAndManyDescriptors) {
  Runtime runtime(Options{.workers = 2});
  const std::size_t count = 50;
  std::vector<Pipe> pipes(count);
  std::atomic<std::size_t> got{0};
  for (const Pipe& pipe : pipes) {
    for (int i = 0; i < 3; ++i) {
      runtime.spawn([&] {
        while (pipe.read_one() == '\0') {
          this_task::wait_readable(pipe.reader());
        }
        got.fetch_add(1);
      });
    }
  }
  for (int i = 0; i < 3; ++i) {
    for (const Pipe& pipe : pipes) {
      pipe.write_one('y');
    }
  }
  runtime.wait();
  EXPECT_EQ(got.load(), 3 * count);
}

TEST(WaitReadableTest, ReadingAndWritingOneSocketAtOnce) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  Runtime runtime(Options{.workers = 2});
  const std::size_t total = 4 << 20;
  for (const int own : ends) {
    runtime.spawn([&, own] {
      const std::vector<char> data(65536, 'z');
      for (std::size_t sent = 0; sent < total;) {
        const ssize_t count = write(own, data.data(), std::min(data.size(), total - sent));
        if (count < 0) {
          ASSERT_EQ(errno, EAGAIN);
          this_task::wait_writable(own);
        } else {
          sent += static_cast<std::size_t>(count);
        }
      }
    });
    runtime.spawn([&, own] {
      std::vector<char> data(65536);
      for (std::size_t received = 0; received < total;) {
        const ssize_t count = read(own, data.data(), data.size());
        if (count < 0) {
          ASSERT_EQ(errno, EAGAIN);
          this_task::wait_readable(own);
        } else {
          received += static_cast<std::size_t>(count);
        }
      }
    });
  }
  runtime.wait();
  close(ends[0]);
  close(ends[1]);
}

TEST(WaitReadableTest, AHangUpEndsTheWait) {
  Runtime runtime(Options{.workers = 1});
  Pipe pipe;
  auto waited = runtime.spawn([&] { return this_task::wait_readable(pipe.reader()); });
  pipe.close_writer();
  EXPECT_TRUE(waited.get());
}

TEST(WaitReadableTest, ALimitOfTime) {
  Runtime runtime(Options{.workers = 1});
  const Pipe pipe;
  EXPECT_FALSE(runtime.spawn([&] { return this_task::wait_readable(pipe.reader(), milliseconds(2)); }).get());
  pipe.write_one('a');
  EXPECT_TRUE(runtime.spawn([&] { return this_task::wait_readable(pipe.reader(), milliseconds(60'000)); }).get());
}

TEST(WaitReadableTest, FilesAreAlwaysReadyAndWhatIsNotOpenIsRefused) {
  Runtime runtime(Options{.workers = 1});
  runtime.spawn([] {
    const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    EXPECT_TRUE(this_task::wait_readable(file));
    close(file);
    try {
      this_task::wait_readable(1'000'000);
      ADD_FAILURE() << "it is not open";
    } catch (const IoError& error) {
      EXPECT_EQ(error.code().value(), EBADF);
      EXPECT_NE(std::string(error.what()).find("1000000"), std::string::npos);
    }
  });
  runtime.wait();
  EXPECT_THROW(this_task::wait_readable(0), std::logic_error);
}

TEST(WaitReadableTest, CancellingEndsTheWait) {
  Runtime runtime(Options{.workers = 1});
  const Pipe pipe;
  std::atomic<bool> begun{false};
  auto future = runtime.spawn([&] {
    begun = true;
    this_task::wait_readable(pipe.reader());
  });
  await([&] { return begun.load(); });
  future.cancel();
  const auto failed = failure_of([&] { future.get(); });
  ASSERT_TRUE(failed);
  EXPECT_TRUE(failed->cancelled());
}

// A user's own source in a few lines: the task goes on when the child has ended.
TEST(WaitReadableTest, AChildProcess) {
  Runtime runtime(Options{.workers = 1});
  auto status = runtime.spawn([] {
    const pid_t child = fork();
    if (child == 0) {
      _exit(42);
    }
    const auto descriptor = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
    this_task::wait_readable(descriptor);
    close(descriptor);
    int ended = 0;
    waitpid(child, &ended, 0);
    return WEXITSTATUS(ended);
  });
  EXPECT_EQ(status.get(), 42);
}

TEST(WaitReadableTest, InAnIoTask) {
  Runtime runtime(Options{.workers = 1});
  const Pipe pipe;
  auto waited = runtime.spawn({.io = true}, [&] { return this_task::wait_readable(pipe.reader()); });
  pipe.write_one('b');
  EXPECT_TRUE(waited.get());
}

TEST(PendingOperationTest, WaitAndBindInEveryOrder) {
  Runtime runtime(Options{.workers = 2});
  std::atomic<int> calls{0};
  PollingService service(runtime, "source", {}, [&] {
    calls.fetch_add(1);
    return std::size_t{0};
  });
  for (const bool ends_first : {false, true}) {
    for (const bool binds : {false, true}) {
      std::atomic<bool> waiting{false};
      PendingOperation operation = service.expect("something");
      EXPECT_EQ(service.pending(), 1U);
      if (ends_first) {
        operation.complete();
      }
      auto task = runtime.spawn([&] {
        waiting = true;
        binds ? operation.bind() : operation.wait();
      });
      await([&] { return waiting.load(); });
      operation.complete();
      task.wait();
      operation.complete();
      operation.fail(nullptr);
      EXPECT_EQ(service.pending(), 0U);
      runtime.wait();
    }
  }
  EXPECT_THROW(service.expect("outside").wait(), std::logic_error);
  EXPECT_EQ(service.pending(), 0U) << "it was dropped";
  const auto dropped = failure_of([&] { runtime.spawn([&] { service.expect("nothing").bind(); }).get(); });
  ASSERT_TRUE(dropped);
  EXPECT_NE(innermost(*dropped).find("dropped"), std::string::npos);
  EXPECT_THROW(PendingOperation().wait(), std::logic_error);
}

TEST(PendingOperationTest, FailsTheTask) {
  Runtime runtime(Options{.workers = 2});
  PollingService service(runtime, "source", {}, [] { return std::size_t{0}; });
  for (const bool binds : {false, true}) {
    PendingOperation operation = service.expect("what fails");
    auto task = runtime.spawn([&] { binds ? operation.bind() : operation.wait(); });
    operation.fail(std::make_exception_ptr(std::runtime_error("the line is cut")));
    const auto failed = failure_of([&] { task.get(); });
    ASSERT_TRUE(failed);
    EXPECT_EQ(innermost(*failed), "the line is cut");
  }
}

TEST(PendingOperationTest, WhatThePollingFunctionThrowsFailsAllThatWait) {
  const auto outcome = run_in_child([] {
    Runtime runtime(Options{.workers = 2});
    std::atomic<bool> broken{false};
    PollingService service(runtime, "the line", {}, [&] {
      if (broken.load()) {
        throw std::runtime_error("cut");
      }
      return std::size_t{0};
    });
    std::vector<Future<void>> tasks;
    std::vector<PendingOperation> operations(20);
    for (std::size_t i = 0; i < operations.size(); ++i) {
      tasks.push_back(runtime.spawn([&, i] {
        operations[i] = service.expect("message " + std::to_string(i));
        i % 2 == 0 ? operations[i].bind() : operations[i].wait();
      }));
    }
    broken = true;
    int failed = 0;
    for (Future<void>& task : tasks) {
      const auto failure = failure_of([&] { task.get(); });
      // Those that came too late are refused, with the same cause.
      failed += failure && std::string(failure->what()).find("cut") != std::string::npos ? 1 : 0;
    }
    return failed;
  });
  EXPECT_EQ(outcome.status, 20) << outcome.error;
  EXPECT_NE(outcome.error.find("polling service 'the line' ended: cut"), std::string::npos) << outcome.error;
}

TEST(PendingOperationTest, ADescriptorCallsThePollingFunction) {
  Runtime runtime(Options{.workers = 1});
  const Pipe pipe;
  PendingOperation operation;
  std::mutex mutex;  // of the operation: the function is called while it is being made
  // Too rarely for the clock to matter in this test.
  const PollingRate hours{std::chrono::hours(5), std::chrono::hours(5)};
  PollingService service(
      runtime, "pipe", hours,
      [&] {
        if (pipe.read_one() == 'q') {
          const std::lock_guard lock(mutex);
          operation.complete();
        }
        return std::size_t{0};
      },
      pipe.reader());
  auto task = runtime.spawn([&] {
    {
      const std::lock_guard lock(mutex);
      operation = service.expect("a q");
    }
    pipe.write_one('p');
    PendingOperation(operation).wait();
  });
  runtime.spawn([&] { pipe.write_one('q'); });
  task.get();
}

// A worker that calls the function has nothing else to do, and the timer that it was called for is gone.
TEST(PendingOperationTest, AFunctionThatTakesLongIsNoReasonToBeStuck) {
  Runtime runtime(Options{.workers = 1, .report_after = milliseconds(10), .stuck_after = milliseconds(10)});
  std::atomic<bool> done{false};
  PollingService service(runtime, "slow", {}, [&] {
    std::array<char, 16> name{};
    pthread_getname_np(pthread_self(), name.data(), name.size());
    if (std::string_view(name.data()) != "dovetail-events" && !done.load()) {
      std::this_thread::sleep_for(milliseconds(300));  // the slow function itself
      done.store(true);
    }
    return std::size_t{0};
  });
  PendingOperation operation = service.expect("something");
  auto task = runtime.spawn([&] { operation.wait(); });
  await([&] { return done.load() || task.wait_for(milliseconds(1)); });
  operation.complete();
  EXPECT_NO_THROW(task.get());
}

TEST(PendingOperationTest, AServiceMayOutliveItsRuntime) {
  std::optional<PollingService> service;
  PendingOperation never;
  {
    Runtime runtime(Options{.workers = 1});
    service.emplace(runtime, "mail", PollingRate{}, [] { return std::size_t{0}; });
    PendingOperation operation = service->expect("a letter");
    auto task = runtime.spawn([&] { operation.wait(); });
    operation.complete();
    task.get();
    never = service->expect("another");
  }
  EXPECT_EQ(service->pending(), 0U);
  EXPECT_THROW(service->expect("one more"), std::runtime_error);
  EXPECT_THROW(service->add_pending(), std::runtime_error);
  Runtime other(Options{.workers = 1});
  EXPECT_THROW(other.spawn([&] { never.wait(); }).get(), TaskFailed) << "it has ended, by the end of its runtime";
  service.reset();
}

}  // namespace
}  // namespace dovetail::test
