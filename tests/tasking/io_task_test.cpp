// I/O tasks: they may block, on threads that are not compute workers.
#include <sys/resource.h>
#include <sys/socket.h>

#include "support.hpp"
#include "tasking/service.hpp"

namespace dovetail::test {
namespace {

TEST(IoTaskTest, RunOnOtherThreadsThanWorkers) {
  Runtime runtime(Options{.workers = 1});
  const auto worker = runtime.spawn([] { return std::this_thread::get_id(); }).get();
  for (int i = 0; i < 50; ++i) {
    auto executor = runtime.spawn({.io = true}, [] { return std::this_thread::get_id(); }).get();
    EXPECT_NE(executor, worker);
    EXPECT_NE(executor, std::this_thread::get_id());
  }
}

TEST(IoTaskTest, SpawnedByATask) {
  Runtime runtime(Options{.workers = 1});
  const bool same = runtime
                        .spawn([] {
                          const auto worker = std::this_thread::get_id();
                          return spawn({.io = true}, [] { return std::this_thread::get_id(); }).get() == worker;
                        })
                        .get();
  EXPECT_FALSE(same);
}

TEST(IoTaskTest, DoNotBlockWorkers) {
  // As many as there may be block at once, until a compute task has run on the only worker.
  Runtime runtime(Options{.workers = 1, .io_executors = 8});
  std::latch all(8);
  Gate gate;
  for (int i = 0; i < 8; ++i) {
    runtime.spawn({.io = true}, [&] {
      all.arrive_and_wait();
      gate.pass();
    });
  }
  all.wait();
  runtime.spawn([&] { gate.open(); });
  runtime.wait();
}

TEST(IoTaskTest, NoMoreAtOnceThanTheLimit) {
  Runtime runtime(Options{.workers = 2, .io_executors = 3});
  std::atomic<int> now{0};
  std::atomic<int> most{0};
  for (int i = 0; i < 500; ++i) {
    runtime.spawn({.io = true}, [&] {
      const int running = now.fetch_add(1) + 1;
      int seen = most.load();
      while (running > seen && !most.compare_exchange_weak(seen, running)) {
      }
      std::this_thread::yield();
      now.fetch_sub(1);
    });
  }
  runtime.wait();
  EXPECT_LE(most.load(), 3);
}

/// A thousand I/O tasks without constraint, with the options that a program has that sets none.
class AThousandIoTasks : public testing::Test {
 protected:
  static constexpr int tasks = 1000;
  template <class Body>
  void run(Body&& body) {
    Runtime runtime;
    for (int i = 0; i < tasks; ++i) {
      runtime.spawn({.io = true}, [this, &body] {
        body();
        through_.fetch_add(1);
      });
    }
    runtime.wait();
    EXPECT_EQ(through_.load(), tasks);
  }

 private:
  std::atomic<int> through_{0};
};

TEST_F(AThousandIoTasks, ThatSleepGetThrough) {
  run([] { std::this_thread::sleep_for(std::chrono::milliseconds(1)); });  // nothing is awaited by it
}

TEST_F(AThousandIoTasks, ThatSleepInDovetailGetThrough) {
  run([] { this_task::wait_for(std::chrono::milliseconds(1)); });
}

// Each asks over a socket, and blocks until it is answered. A server answers fifty at a time, so that many have to wait for it at once.
TEST_F(AThousandIoTasks, ThatWaitForTheNetworkGetThrough) {
  constexpr std::size_t at_a_time = 50;
  std::mutex mutex;
  std::vector<int> connected;
  run([&] {
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    std::vector<int> answered;
    {
      const std::lock_guard lock(mutex);
      connected.push_back(ends[1]);
      if (connected.size() == at_a_time) {
        answered.swap(connected);
      }
    }
    for (const int end : answered) {
      EXPECT_EQ(::write(end, "x", 1), 1);
      close(end);
    }
    char answer = 0;
    EXPECT_EQ(::read(ends[0], &answer, 1), 1);
    close(ends[0]);
  });
}

// Twenty block on a pipe each, before the twenty that write to these may begin: so it goes, a thousand times.
TEST_F(AThousandIoTasks, ThatWaitForOthersBehindThemGetThrough) {
  constexpr int together = 20;
  std::array<std::array<int, 2>, together> pipes{};
  for (auto& ends : pipes) {
    ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  }
  std::atomic<int> number{0};
  std::atomic<int> odd{0};
  run([&] {
    // They begin in the order in which they were spawned.
    const int mine = number.fetch_add(1);
    const auto& ends = pipes[static_cast<std::size_t>(mine % together)];
    char byte = 0;
    if (mine / together % 2 == 0) {
      EXPECT_EQ(::read(ends[0], &byte, 1), 1);
    } else {
      odd.fetch_add(1);
      EXPECT_EQ(::write(ends[1], "x", 1), 1);
    }
  });
  EXPECT_EQ(odd.load(), tasks / 2);
  for (const auto& ends : pipes) {
    close(ends[0]);
    close(ends[1]);
  }
}

TEST(IoTaskTest, DependenciesChildrenEventsAndFailures) {
  Runtime runtime(Options{.workers = 2});
  for (int round = 0; round < 100; ++round) {
    int data = 0;
    std::thread outside;
    runtime.spawn({.access = {out(data)}, .io = true}, [&] { data = 1; });
    runtime.spawn({.access = {inout(data)}}, [&] { data += 2; });
    runtime.spawn({.access = {inout(data)}, .io = true}, [&] {
      EXPECT_TRUE(this_task::active());
      EXPECT_EQ(spawn([&] { return data + 4; }).get(), 7);
      EXPECT_EQ(spawn({.io = true}, [&] { return data + 5; }).get(), 8);
      spawn({.io = true}, [&] { data += 8; });
      wait();
      Events& events = this_task::events();
      events.add();
      outside = std::thread([&] {
        data += 16;
        events.fulfill();
      });
    });
    EXPECT_EQ(runtime.spawn({.access = {in(data)}, .io = true}, [&] { return data; }).get(), 27);
    outside.join();
  }
  auto future = runtime.spawn({.label = "io", .io = true}, [] { throw std::runtime_error("in an I/O task"); });
  const auto failed = failure_of([&] { future.get(); });
  ASSERT_TRUE(failed);
  EXPECT_EQ(innermost(*failed), "in an I/O task");
}

TEST(IoTaskTest, SuspendBlocksTheirThreadOnly) {
  Runtime runtime(Options{.workers = 1});
  for (int i = 0; i < 200; ++i) {
    auto future = runtime.spawn({.io = true}, [&] {
      const auto here = std::this_thread::get_id();
      TaskHandle self = this_task::handle();
      runtime.spawn([self = std::move(self)] { self.resume(); });
      this_task::suspend();
      this_task::yield();
      return here == std::this_thread::get_id();
    });
    EXPECT_TRUE(future.get());
  }
}

TEST(IoTaskTest, WaitingForOthersDoesNotUseUpTheLimit) {
  Runtime runtime(Options{.workers = 1, .io_executors = 1});
  std::function<int(int)> descend = [&](int levels) {
    return levels == 0 ? 1 : spawn({.io = true}, [&, levels] { return descend(levels - 1); }).get() + 1;
  };
  EXPECT_EQ(runtime.spawn({.io = true}, [&] { return descend(20); }).get(), 21);
}

TEST(IoTaskTest, ManyMoreThanThreads) {
  Runtime runtime(Options{.workers = 2, .io_executors = 4});
  std::atomic<int> done{0};
  const int count = static_cast<int>(scaled(20'000, 2'000));
  for (int i = 0; i < count; ++i) {
    runtime.spawn({.io = true}, [&] { done.fetch_add(1); });
  }
  runtime.wait();
  EXPECT_EQ(done.load(), count);
  EXPECT_LE(count_threads(), 1U + 2 + 1 + 4 + 1) << "and one that a sanitizer may have";
}

// A limit on threads holds for users other than root.
void allow_no_more_threads() {
  rlimit limit{};
  getrlimit(RLIMIT_NPROC, &limit);
  limit.rlim_cur = 1;
  if (setrlimit(RLIMIT_NPROC, &limit) != 0) {
    throw std::system_error(errno, std::generic_category(), "RLIMIT_NPROC");
  }
}

// Runs `program` in a child process that belongs to the user `nobody`. The child exits with what `program` returns.
Outcome run_as_nobody(const std::function<int()>& program) {
  return run_in_child([&] {
    constexpr uid_t nobody = 65534;
    if (geteuid() == 0 && setresuid(nobody, nobody, nobody) != 0) {
      return 1;
    }
    return program();
  });
}

TEST(IoTaskTest, ARuntimeWithoutThreadsSaysWhatToDo) {
  const auto outcome = run_as_nobody([] {
    allow_no_more_threads();
    try {
      const Runtime runtime(Options{.workers = 3});
    } catch (const std::system_error& error) {
      const std::string said = error.what();
      return error.code().value() == EAGAIN && said.find("of 3 workers") != std::string::npos &&
                     said.find("ulimit -u") != std::string::npos
                 ? 42
                 : 2;
    }
    return 3;
  });
  EXPECT_EQ(outcome.status, 42) << outcome.error;
}

TEST(IoTaskTest, WithoutThreadsWorkersRunThem) {
  const auto outcome = run_as_nobody([] {
    Runtime runtime(Options{.workers = 1});
    const auto worker = runtime.spawn([] { return std::this_thread::get_id(); }).get();
    allow_no_more_threads();
    return runtime.spawn({.io = true}, [] { return std::this_thread::get_id(); }).get() == worker ? 42 : 2;
  });
  EXPECT_EQ(outcome.status, 42) << outcome.error;
}

// The only executor is about to block for what no other one can be made for.
TEST(IoTaskTest, WithoutThreadsWorkersRunWhatTheLastExecutorWaitsFor) {
  const auto outcome = run_as_nobody([] {
    Runtime runtime(Options{.workers = 1});
    return runtime
        .spawn({.io = true},
               [] {
                 allow_no_more_threads();
                 std::vector<Future<int>> children;
                 for (int i = 0; i < 20; ++i) {  // more than there are places
                   children.push_back(spawn({.io = true}, [] { return spawn({.io = true}, [] { return 1; }).get(); }));
                 }
                 int sum = 0;
                 for (Future<int>& child : children) {
                   sum += child.get();
                 }
                 return sum == 20 ? 42 : 2;
               })
        .get();
  });
  EXPECT_EQ(outcome.status, 42) << outcome.error;
}

// A blocking call of a task that the only executor is about to wait for.
TEST(IoTaskTest, WithoutThreadsAnExecutorMakesTheCallThatItWaitsFor) {
  struct Call : tasking::BlockingWork {
    Events* of = nullptr;
  };
  const auto outcome = run_as_nobody([] {
    Runtime runtime(Options{.workers = 1});
    Call call;
    call.run = [](tasking::BlockingWork* work) { static_cast<Call*>(work)->of->fulfill(); };
    return runtime
        .spawn({.io = true},
               [&] {
                 allow_no_more_threads();
                 std::atomic<bool> is_posted{false};
                 const Future<void> task = spawn([&] {
                   call.of = &this_task::events();
                   call.of->add();
                   tasking::post_blocking(runtime.core(), &call);
                   is_posted.store(true);
                 });
                 await([&] { return is_posted.load(); });
                 task.get();
                 return 42;
               })
        .get();
  });
  EXPECT_EQ(outcome.status, 42) << outcome.error;
}

}  // namespace
}  // namespace dovetail::test
