// Operations that are tried, requests that stay the program's, and those that are known by numbers.
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "dovetail/mpi_error.hpp"
#include "fake_library.hpp"
#include "tasking/support.hpp"

namespace dovetail::comm::mpi::test {
namespace {

using detail::mpi::Description;
using detail::mpi::Start;
using dovetail::test::await;
using dovetail::test::Gate;

class CallsTest : public testing::TestWithParam<unsigned> {
 protected:
  CallsTest() : runtime_(Options{.workers = GetParam(), .report_after = std::chrono::seconds(0)}) {
    fake();
    require_library(Abi::mpich);  // what has no interface of its own takes this one
  }
  ~CallsTest() override { EXPECT_FALSE(fake().was_entered_twice()); }

  // Ends when the test says so, with MPI's code.
  struct Attempt {
    std::atomic<int> tried{0};
    std::atomic<bool> ended{false};
    std::atomic<int> code{0};
  };
  static Start of(Attempt& attempt) {
    return Start::of([&attempt](void* ended) {
      const FakeLibrary::Inside inside(fake());
      ++attempt.tried;
      *static_cast<bool*>(ended) = attempt.ended.load();
      return attempt.code.load();
    });
  }
  static Description described(const char* call) { return Description::of(call); }

  Runtime runtime_;
};

TEST_P(CallsTest, ATaskCompletesWhenAnAttemptThatIsBoundToItHasEnded) {
  Attempt attempt;
  Gate returned;
  auto bound = runtime_.spawn([&] {
    detail::mpi::attempt_and_bind(Abi::mpich, described("MPI_Parrived"), of(attempt));
    returned.open();
  });
  returned.pass();
  await([&] { return attempt.tried >= 3; });  // it is asked again and again
  EXPECT_FALSE(bound.ready());
  attempt.ended = true;
  bound.get();
}

// As MPI refuses when it has no room for one more. Those that have begun, and those that begin later, are as ever.
TEST_P(CallsTest, WhatMpiCannotStartFailsItsTaskAlone) {
  constexpr int tasks = 300;
  std::array<std::atomic<int>, tasks> requests{};  // one more than their numbers
  const auto start_of = [&requests](int task) {
    return [&request = requests[static_cast<std::size_t>(task)], refused = task % 3 == 0](void* into) {
      const FakeLibrary::Inside inside(fake());
      if (refused) {
        return code_of_failure;
      }
      const int made = fake().begin();
      std::memcpy(into, &made, sizeof made);
      request = made + 1;
      return 0;
    };
  };
  std::vector<Future<void>> bound;
  std::vector<Future<void>> waiting;
  for (int task = 0; task < tasks; ++task) {
    Description description = described("MPI_Isend");
    description.peer = 7;
    description.tag = task;
    const Start start = Start::of(start_of(task));
    const auto begin = [description, start, task] {
      if (task % 2 == 0) {
        detail::mpi::start_and_bind(Abi::mpich, description, start, nullptr);
      } else {
        detail::mpi::start_and_wait(Abi::mpich, description, start, nullptr);
      }
    };
    (task % 2 == 0 ? bound : waiting).push_back(runtime_.spawn(begin));
  }
  for (int task = 0; task < tasks; ++task) {
    if (task % 3 != 0) {
      await([&] { return requests[static_cast<std::size_t>(task)] != 0; });
      fake().end(requests[static_cast<std::size_t>(task)] - 1);
    }
  }
  for (int task = 0; task < tasks; ++task) {
    Future<void>& its = (task % 2 == 0 ? bound : waiting)[static_cast<std::size_t>(task / 2)];
    if (task % 3 != 0) {
      EXPECT_NO_THROW(its.get()) << task;
      continue;
    }
    try {
      its.get();
      ADD_FAILURE() << task << " was started";
    } catch (const TaskFailed& failed) {
      const std::string wanted = "MPI_Isend to rank 7 with tag " + std::to_string(task) + ": fake error 15";
      EXPECT_NE(std::string(failed.what()).find(wanted), std::string::npos) << failed.what();
    }
  }
}

// Of Fortran's calls, which know requests by numbers.
TEST_P(CallsTest, ATaskCompletesWhenItsPartitionHasArrived) {
  const int request = fake().begin();
  const int last = fake().begin();
  Gate returned;
  auto bound = runtime_.spawn([&] {
    detail::mpi::bind_partition(&request, last - request);
    returned.open();
  });
  returned.pass();
  fake().end(request);
  EXPECT_FALSE(bound.ready());
  fake().end(last);
  bound.get();
  EXPECT_THROW(detail::mpi::bind_partition(&request, 0), std::logic_error) << "outside of a task";
}

TEST_P(CallsTest, AnAttemptThatFailsFailsTheTask) {
  Attempt attempt;
  auto bound =
      runtime_.spawn([&] { detail::mpi::attempt_and_bind(Abi::mpich, described("MPI_Parrived"), of(attempt)); });
  attempt.code = code_of_failure;
  try {
    bound.get();
    FAIL() << "the task did not fail";
  } catch (const TaskFailed& failed) {
    EXPECT_NE(std::string(failed.what()).find("MPI_Parrived: fake error 15"), std::string::npos) << failed.what();
  }
}

TEST_P(CallsTest, ATaskWaitsForAnAttemptAndAThreadMakesTheBlockingCall) {
  Attempt attempt;
  int blocked = 0;
  const Start blocking = Start::of([&blocked](void* nothing) {
    EXPECT_EQ(nothing, nullptr);
    return ++blocked == 2 ? code_of_failure : 0;
  });
  std::atomic<bool> returned{false};
  auto waits = runtime_.spawn([&] {
    detail::mpi::attempt_and_wait(Abi::mpich, described("MPI_Waitany"), of(attempt), blocking);
    returned = true;
  });
  await([&] { return attempt.tried > 0; });
  runtime_.spawn([] {}).get();  // the core is free
  EXPECT_FALSE(returned);
  attempt.ended = true;
  waits.get();
  EXPECT_EQ(blocked, 0);
  detail::mpi::attempt_and_wait(Abi::mpich, described("MPI_Waitany"), of(attempt), blocking);
  EXPECT_EQ(blocked, 1);
  EXPECT_THROW(detail::mpi::attempt_and_wait(Abi::mpich, described("MPI_Waitany"), of(attempt), blocking),
               dovetail::mpi::Error);
}

TEST_P(CallsTest, AWaitForTheEndLeavesRequestsAsTheyAre) {
  std::vector<int> requests{fake().begin(), fake().begin(), fake().begin()};
  const std::vector<int> before = requests;
  const std::vector<const void*> places{&requests[0], &requests[1], &requests[2]};
  auto waits = runtime_.spawn([&] { detail::mpi::wait_until_ended(places.data(), places.size()); });
  fake().end(requests[2]);
  fake().end(requests[0]);
  runtime_.spawn([] {}).get();
  EXPECT_FALSE(waits.ready());
  fake().end(requests[1], code_of_failure);  // which the call that frees it tells
  waits.get();
  EXPECT_EQ(requests, before);
  EXPECT_THROW(detail::mpi::wait_until_ended(places.data(), places.size()), std::logic_error) << "outside of a task";
}

// Its caller asks MPI itself then, again and again.
TEST_P(CallsTest, AWaitForTheEndGoesOnAfterADeathAndLeavesRequestsAsTheyAre) {
  const int request = fake().begin();
  const int ended_before = fake().begin();
  fake().end(ended_before);
  fake().set_knows_of_death(true);
  const auto wait_for = [&](const int& one) {
    return runtime_
        .spawn([&one] {
          const void* const place = &one;
          return detail::mpi::wait_until_ended(&place, 1);
        })
        .get();
  };
  EXPECT_FALSE(wait_for(request));
  EXPECT_FALSE(wait_for(request));
  EXPECT_TRUE(wait_for(ended_before));
  fake().end(request);
  EXPECT_TRUE(wait_for(request));
  fake().set_knows_of_death(false);
}

TEST_P(CallsTest, APersistentRequestIsStartedAndStaysTheProgramsOwn) {
  for (int round = 0; round < 3; ++round) {
    const int request = fake().begin();
    const int number = request;
    const std::size_t started = fake().started();
    Gate returned;
    auto bound = runtime_.spawn([&] {
      detail::mpi::start_and_bind(&request);
      returned.open();
    });
    returned.pass();
    EXPECT_EQ(fake().started(), started + 1);
    EXPECT_FALSE(bound.ready());
    fake().end(request);
    bound.get();
    EXPECT_EQ(request, number);
  }
  const int request = fake().begin();
  EXPECT_THROW(detail::mpi::start_and_bind(&request), std::logic_error) << "outside of a task";
}

TEST_P(CallsTest, RequestsOfFortranAreKnownByNumbers) {
  const std::vector<std::int32_t> numbers{7, 9};
  const std::vector<std::byte> requests = detail::mpi::requests_from_fortran(numbers.data(), numbers.size());
  ASSERT_EQ(requests.size(), numbers.size() * detail::mpi::request_size());
  EXPECT_EQ(std::memcmp(requests.data(), numbers.data(), requests.size()), 0);
}

INSTANTIATE_TEST_SUITE_P(Workers, CallsTest, testing::Values(1U, 2U));

}  // namespace
}  // namespace dovetail::comm::mpi::test
