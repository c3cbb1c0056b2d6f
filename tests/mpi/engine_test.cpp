// Tasks and the ends of requests, with a library whose requests end when the test says so.
#include <future>

#include "base/sanitizer.hpp"
#include "comm/mpi/engine.hpp"
#include "dovetail/mpi_error.hpp"
#include "fake_library.hpp"
#include "tasking/core.hpp"
#include "tasking/support.hpp"

namespace dovetail::comm::mpi::test {
namespace {

using dovetail::test::await;
using dovetail::test::Gate;
using dovetail::test::scaled;

class MessagesTest : public testing::TestWithParam<unsigned> {
 protected:
  MessagesTest() : runtime_(Options{.workers = GetParam(), .report_after = std::chrono::seconds(0)}) { fake(); }
  ~MessagesTest() override { EXPECT_FALSE(fake().was_entered_twice()); }
  Runtime runtime_;
};

TEST_P(MessagesTest, ATaskThatWaitsGivesItsCoreAway) {
  int request = fake().begin();
  int status = 0;
  const int number = request;
  std::atomic<bool> others{false};
  auto waits = runtime_.spawn([&] { wait(request, &status); });
  // As many as there are workers wait; somebody runs this all the same.
  std::vector<int> more(GetParam());
  std::vector<Future<void>> waiting;
  for (int& one : more) {
    one = fake().begin();
    waiting.push_back(runtime_.spawn([&one] { wait(one); }));
  }
  runtime_.spawn([&] { others = true; }).get();
  EXPECT_TRUE(others);
  EXPECT_FALSE(waits.ready());
  const std::vector<int> numbers = [&] {
    std::vector<int> all;
    for (int i = 1; i <= static_cast<int>(GetParam()); ++i) {
      all.push_back(number + i);
    }
    return all;
  }();
  fake().end(number);
  waits.get();
  EXPECT_EQ(request, null_request);
  EXPECT_EQ(status, number);
  for (const int one : numbers) {
    fake().end(one);
  }
  for (auto& one : waiting) {
    one.get();
  }
}

TEST_P(MessagesTest, ABoundTaskCompletesWhenItsRequestsHaveEnded) {
  std::vector<int> requests{fake().begin(), null_request, fake().begin()};
  const std::vector<int> numbers = requests;
  std::vector<int> statuses(3);
  Gate returned;
  int value = 0;
  auto bound = runtime_.spawn({.access = {out(value)}}, [&] {
    iwait(requests, statuses.data());
    EXPECT_EQ(requests, (std::vector<int>(3, null_request))) << "handed over";
    returned.open();
  });
  auto reads = runtime_.spawn({.access = {in(value)}}, [] {});
  returned.pass();
  fake().end(numbers[2]);
  EXPECT_FALSE(bound.ready());
  EXPECT_FALSE(reads.ready());
  fake().end(numbers[0]);
  reads.get();
  EXPECT_EQ(statuses, numbers) << "the empty status of a null request is this library's null";
}

TEST_P(MessagesTest, InOnreadyTheBodyWaits) {
  int request = fake().begin();
  const int number = request;
  std::atomic<bool> ran{false};
  std::promise<void> asked;
  auto task = runtime_.spawn({.onready =
                                  [&] {
                                    EXPECT_THROW(wait(request), std::logic_error) << "it would hold the core";
                                    iwait(request);
                                    asked.set_value();
                                  }},
                             [&] { ran = true; });
  asked.get_future().wait();
  runtime_.spawn([] {}).get();
  EXPECT_FALSE(ran);
  fake().end(number);
  task.get();
  EXPECT_TRUE(ran);
}

TEST_P(MessagesTest, WhatFailsInOnreadyFailsTheTaskAndItsBodyNeverRuns) {
  int request = fake().begin();
  const int number = request;
  std::atomic<bool> ran{false};
  auto task = runtime_.spawn({.label = "receiver", .onready = [&] { iwait(request); }}, [&] { ran = true; });
  fake().end(number, code_of_failure);
  try {
    task.get();
    ADD_FAILURE() << "the task has not failed";
  } catch (const TaskFailed& failure) {
    EXPECT_EQ(failure.label(), "receiver");
    EXPECT_THROW(std::rethrow_exception(failure.cause()), dovetail::mpi::Error);
  }
  EXPECT_FALSE(ran);
}

detail::mpi::Description receives(int rank, int tag) {
  detail::mpi::Description made;
  made.call = "MPI_Recv";
  made.peer = rank;
  made.tag = tag;
  made.receives = true;
  made.has_communicator = true;
  return made;
}

// An operation that is over when it starts.
detail::mpi::Start at_once(int code) {
  return detail::mpi::Start::of([code](void* request) {
    const int number = fake().begin();
    fake().end(number);
    std::memcpy(request, &number, sizeof number);
    return code;
  });
}

TEST_P(MessagesTest, WhatFailsSaysWhatItWas) {
  const auto expect_failure = [](const std::function<void()>& call) {
    try {
      call();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const dovetail::mpi::Error& error) {
      EXPECT_EQ(error.code(), code_of_failure);
      EXPECT_EQ(error.error_class(), code_of_failure + 1);
      EXPECT_EQ(error.call(), "MPI_Recv");
      EXPECT_EQ(error.peer(), 1);
      EXPECT_EQ(error.tag(), 3);
      EXPECT_STREQ(error.what(), "MPI_Recv from rank 1 with tag 3 in MPI_COMM_WORLD: fake error 15");
    }
  };
  const auto fails = at_once(code_of_failure);
  runtime_
      .spawn([&] { expect_failure([&] { detail::mpi::start_and_wait(Abi::mpich, receives(1, 3), fails, nullptr); }); })
      .get();
  auto bound = runtime_.spawn({.label = "receiver"},
                              [&] { detail::mpi::start_and_bind(Abi::mpich, receives(1, 3), fails, nullptr); });
  try {
    bound.get();
    ADD_FAILURE() << "the task has not failed";
  } catch (const TaskFailed& failure) {
    EXPECT_EQ(failure.label(), "receiver");
    expect_failure([&] { std::rethrow_exception(failure.cause()); });
  }
  EXPECT_FALSE(fake().was_asked_outside_of_turn());
}

TEST_P(MessagesTest, OneOfManyThatFailsIsToldWhenAllHaveEnded) {
  std::vector<int> requests{fake().begin(), fake().begin(), fake().begin()};
  const std::vector<int> numbers = requests;
  auto waits = runtime_.spawn([&] { wait(requests); });
  fake().end(numbers[1], code_of_failure);
  fake().end(numbers[0]);
  runtime_.spawn([] {}).get();
  EXPECT_FALSE(waits.ready());
  fake().end(numbers[2]);
  EXPECT_THROW(waits.get(), TaskFailed);
}

TEST_P(MessagesTest, OperationsOfATaskStartInItsOrder) {
  std::vector<int> started;  // written by one thread at a time: whoever is in the library
  runtime_
      .spawn([&] {
        for (int i = 0; i < 1'000; ++i) {
          const auto start = detail::mpi::Start::of([i, &started](void* request) {
            started.push_back(i);
            const int number = fake().begin();
            fake().end(number);
            std::memcpy(request, &number, sizeof number);
            return 0;
          });
          detail::mpi::start_and_bind(Abi::mpich, receives(0, i), start, nullptr);
        }
      })
      .get();
  ASSERT_EQ(started.size(), 1'000U);
  EXPECT_TRUE(std::is_sorted(started.begin(), started.end()));
}

TEST_P(MessagesTest, OutsideOfATaskTheThreadWaits) {
  int request = fake().begin();
  fake().end(request);
  wait(request);
  int other = fake().begin();
  EXPECT_THROW(iwait(other), std::logic_error);
}

TEST_P(MessagesTest, AnIoTaskWaitsToo) {
  int request = fake().begin();
  const int number = request;
  auto task = runtime_.spawn({.io = true}, [&] { wait(request); });
  runtime_.spawn([] {}).get();
  fake().end(number);
  task.get();
}

INSTANTIATE_TEST_SUITE_P(, MessagesTest, testing::Values(1U, 2U, 4U));

// Otherwise the limit of pending tasks leaves room for a few only.
TEST(MessagesThrottle, TasksThatWaitForMessagesHoldNoSpawnerBack) {
  fake();
  Runtime runtime(Options{.workers = 1, .report_after = std::chrono::seconds(0)});
  constexpr int waiting = 3'000;
  std::vector<int> requests(waiting);
  std::vector<int> numbers(waiting);
  for (int i = 0; i < waiting; ++i) {
    numbers[static_cast<std::size_t>(i)] = requests[static_cast<std::size_t>(i)] = fake().begin();
  }
  std::atomic<int> begun{0};
  auto waits = runtime.spawn([&] {
    for (int& request : requests) {
      spawn([&] {
        ++begun;
        wait(request);
      });
    }
  });
  await([&] { return begun == waiting; });
  // The spawner looks once in a while. When it goes on then, it has room, and need not stop at its next look.
  constexpr std::size_t until_it_has_looked = 200;
  const int in_vain =
      runtime
          .spawn([&] {
            int crowded = 0;
            for (std::size_t i = 0; i < scaled(200'000, 20'000); ++i) {
              spawn([] {});
              crowded += i > until_it_has_looked && runtime.core().throttle.is_crowded(runtime.core().totals.pending())
                             ? 1
                             : 0;
            }
            return crowded;
          })
          .get();
  EXPECT_EQ(in_vain, 0);
  for (const int number : numbers) {
    fake().end(number);
  }
  waits.get();
}

// The thread that has the turn is in the parent only.
TEST(MessagesFork, TheChildBeginsAnew) {
#if DOVETAIL_ADDRESS_SANITIZER
  // Found in a debugger: the child waits for a lock of the sanitizer's own allocator, held by a thread that is not there.
  GTEST_SKIP() << "g++ 12's AddressSanitizer does not release the locks of its allocator in the child of a fork";
#endif
  const char* const sanitizer = std::getenv("DOVETAIL_SANITIZE");
  if (sanitizer != nullptr && std::string(sanitizer) == "thread") {
    GTEST_SKIP() << "ThreadSanitizer ends a child that starts threads";
  }
  constexpr unsigned last_resort_seconds = 60;
  fake();
  Runtime runtime(Options{.workers = 1, .report_after = std::chrono::seconds(0)});
  Gate inside;
  Gate leave;
  std::atomic<int> left{null_request};
  auto waits = runtime.spawn([&] {
    const auto start = detail::mpi::Start::of([&left](void* request) {
      const int number = fake().begin();
      std::memcpy(request, &number, sizeof number);
      left = number;
      return 0;
    });
    detail::mpi::start_and_wait(Abi::mpich, receives(0, 1), start, nullptr);
  });
  await([&] { return left != null_request; });
  auto holds = runtime.spawn([&] {
    const auto start = detail::mpi::Start::of([&inside, &leave](void* request) {
      inside.open();
      leave.pass();
      const int number = fake().begin();
      fake().end(number);
      std::memcpy(request, &number, sizeof number);
      return 0;
    });
    detail::mpi::start_and_wait(Abi::mpich, receives(0, 0), start, nullptr);
  });
  inside.pass();
  const pid_t child = fork();
  if (child == 0) {
    alarm(last_resort_seconds);
    int status = 1;
    {
      Runtime anew(Options{.workers = 1, .report_after = std::chrono::seconds(0)});
      int request = fake().begin();
      fake().end(request);
      anew.spawn([&] { wait(request); }).get();
      status = request == null_request ? 0 : 2;
    }
    _exit(status);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  leave.open();
  holds.get();
  fake().end(left);
  waits.get();
}

// Each question costs MPI as much as a message.
TEST(MessagesRate, OperationsThatTasksAreBoundToAreAskedTogether) {
  fake();
  setenv("DOVETAIL_MPI_POLL", "1000000", 1);  // the clock stays out of it
  Runtime runtime(Options{.workers = 1});
  constexpr std::size_t operations = 160;
  std::size_t asked = 0;
  std::size_t asked_for_one = 0;
  runtime
      .spawn([&] {
        const std::size_t before = fake().times_asked();
        for (std::size_t i = 0; i < operations; ++i) {
          detail::mpi::start_and_bind(Abi::mpich, receives(0, 0), at_once(0), nullptr);
        }
        asked = fake().times_asked() - before;
        detail::mpi::start_and_wait(Abi::mpich, receives(0, 0), at_once(0), nullptr);
        asked_for_one = fake().times_asked() - before - asked;
      })
      .get();
  EXPECT_LE(asked, operations / 8);
  EXPECT_GE(asked_for_one, 1U) << "a task that would pause";
  unsetenv("DOVETAIL_MPI_POLL");
}

// What it was sent from may be written to again: the next task waits for that.
TEST(MessagesRate, AMessageThatHasGoneWhenItIsStartedIsToldAtOnce) {
  fake();
  Runtime runtime(Options{.workers = 1});
  runtime
      .spawn([] {
        detail::mpi::Description sends = receives(1, 3);
        sends.receives = false;
        detail::mpi::start_and_bind(Abi::mpich, sends, at_once(0), nullptr);
        EXPECT_EQ(Engine::of(tasking::current_task()).in_flight(), 0U);
      })
      .get();
}

TEST(MessagesRate, ATaskWhoseMessageHasComeWhenItIsStartedGoesOnAtOnce) {
  fake();
  Runtime runtime(Options{.workers = 1});
  std::atomic<bool> has_run{false};
  runtime
      .spawn([&] {
        const auto other = spawn([&] { has_run = true; });
        detail::mpi::start_and_wait(Abi::mpich, receives(0, 0), at_once(0), nullptr);
        EXPECT_FALSE(has_run) << "the only worker went to another task meanwhile";
      })
      .get();
  runtime.wait();
  EXPECT_TRUE(has_run);
}

// Whatever the rate, zero included, ready tasks go first.
TEST(MessagesRate, NoRateStarvesReadyTasks) {
  fake();
  for (const char* interval : {"0", "1", "1000000"}) {
    setenv("DOVETAIL_MPI_POLL", interval, 1);
    setenv("DOVETAIL_MPI_LINGER", "1000000", 1);
    Runtime runtime(Options{.workers = 1});
    int request = fake().begin();
    const int number = request;
    auto waits = runtime.spawn([&] { wait(request); });
    std::atomic<int> ran{0};
    for (int i = 0; i < 10'000; ++i) {
      runtime.spawn([&] { ++ran; });
    }
    await([&] { return ran == 10'000; });
    EXPECT_FALSE(waits.ready());
    fake().end(number);
    waits.get();
  }
  setenv("DOVETAIL_MPI_POLL", "often", 1);
  EXPECT_THROW(Runtime(Options{.workers = 1}), std::invalid_argument);
  unsetenv("DOVETAIL_MPI_POLL");
  unsetenv("DOVETAIL_MPI_LINGER");
}

// A report needs memory, of which there may be none.
TEST(MessagesReport, OneThatFailsKeepsNobodyFromTheLibrary) {
  fake();
  Runtime runtime(Options{.workers = 1, .report_after = std::chrono::seconds(0)});
  int request = fake().begin();
  const int number = request;
  auto waits = runtime.spawn([&] { wait(request); });
  const auto& engine = Engine::of(runtime.core().root);
  bool has_failed = false;
  while (!has_failed) {  // until the request has been submitted, nothing is visited
    try {
      engine.for_each_wait([](const Task*, const tasking::WaitText&) { throw std::bad_alloc(); });
    } catch (const std::bad_alloc&) {
      has_failed = true;
    }
  }
  fake().end(number);
  waits.get();
}

// The thread that waits for the task is told; another one looks for what is said, and then ends the wait.
TEST(MessagesReport, SaysWhatATaskWaitsFor) {
  fake();
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const int before = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  std::atomic<int> number{-1};
  std::string said;
  std::thread reader([&] {
    std::array<char, 4096> text{};
    while (said.find("left neighbour") == std::string::npos) {
      const ssize_t got = read(ends[0], text.data(), text.size());
      if (got <= 0) {
        break;
      }
      said.append(text.data(), static_cast<std::size_t>(got));
    }
    fake().end(number);
  });
  {
    Runtime runtime(Options{.workers = 1, .report_after = std::chrono::milliseconds(60)});
    const auto start = detail::mpi::Start::of([&number](void* request) {
      const int begun = fake().begin();
      number = begun;
      std::memcpy(request, &begun, sizeof begun);
      return 0;
    });
    runtime
        .spawn({.label = "left neighbour"},
               [&] { detail::mpi::start_and_wait(Abi::mpich, receives(detail::mpi::any_source, 7), start, nullptr); })
        .get();
  }
  reader.join();
  dup2(before, STDERR_FILENO);
  close(before);
  close(ends[0]);
  close(ends[1]);
  EXPECT_NE(said.find("MPI_Recv from any rank with tag 7 in MPI_COMM_WORLD"), std::string::npos) << said;
}

}  // namespace
}  // namespace dovetail::comm::mpi::test
