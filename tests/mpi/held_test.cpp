// Calls that have no form with a request, and the end of MPI, with a library that the test stands in for.
#include <array>
#include <chrono>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "dovetail/dovetail.hpp"
#include "fake_library.hpp"
#include "gtest/gtest.h"
#include "standard_error.hpp"

namespace dovetail::comm::mpi::test {
namespace {

using detail::mpi::Description;
using detail::mpi::Start;
using dovetail::test::StandardError;

template <class Call>
int held(const char* name, const Call& call) {
  const auto make = [&call](void* /*request*/) { return call(); };
  return detail::mpi::held(Abi::mpich, Description::of(name), Start::of(make));
}

class HeldTest : public testing::Test {
 protected:
  HeldTest() { fake().set_level(Level::multiple); }
  ~HeldTest() override { EXPECT_FALSE(fake().was_entered_twice()); }
};

TEST_F(HeldTest, ATaskInACallGivesItsCoreAway) {
  Runtime runtime(Options{.workers = 1});
  std::latch other_ran(1);
  auto waits = runtime.spawn([&] {
    return held("MPI_Comm_dup", [&] {
      other_ran.wait();
      return 7;
    });
  });
  runtime.spawn([&] { other_ran.count_down(); });
  EXPECT_EQ(waits.get(), 7) << "what the call has returned";
}

// None of them ends before all have begun.
TEST_F(HeldTest, NoCallWaitsInAQueueForAnother) {
  constexpr int calls = 10;
  Runtime runtime(Options{.workers = 1, .io_executors = 2});
  std::latch begun(calls);
  for (int i = 0; i < calls; ++i) {
    runtime.spawn([&] {
      held("MPI_Comm_dup", [&] {
        begun.arrive_and_wait();
        return 0;
      });
    });
  }
  runtime.wait();
}

TEST_F(HeldTest, AnIoTaskIsHeldItself) {
  Runtime runtime(Options{.workers = 1});
  auto task = runtime.spawn({.io = true}, [] {
    const auto own = std::this_thread::get_id();
    return held("MPI_File_sync", [&] { return std::this_thread::get_id() == own ? 1 : 2; });
  });
  EXPECT_EQ(task.get(), 1);
}

TEST_F(HeldTest, AReportNamesTheCall) {
  std::latch ends(1);
  Runtime runtime(Options{.workers = 1, .report_after = std::chrono::milliseconds(20)});
  StandardError errors;
  auto waits = runtime.spawn({.label = "copies"}, [&] {
    held("MPI_Comm_dup", [&] {
      ends.wait();
      return 0;
    });
  });
  std::thread outside([&] {
    errors.wait_for("task 'copies' waits for MPI_Comm_dup");
    ends.count_down();
  });
  waits.get();
  outside.join();
}

// The thread in the call is the one that has the turn, so no other is in the library.
TEST_F(HeldTest, WhereMpiAllowsOneThreadTheCallIsAloneInIt) {
  fake().set_level(Level::serialized);
  StandardError errors;
  Runtime runtime(Options{.workers = 3});
  std::vector<Future<int>> codes;
  for (int i = 0; i < 200; ++i) {
    codes.push_back(runtime.spawn([i] {
      return held("MPI_Win_fence", [i] {
        const FakeLibrary::Inside inside(fake());
        return i;
      });
    }));
    runtime.spawn([] {
      int request = fake().begin();
      fake().end(request);
      wait(request);
    });
  }
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(codes[static_cast<std::size_t>(i)].get(), i);
  }
  runtime.wait();
  const std::string said = errors.end();
  const std::size_t first = said.find("holds a thread");
  EXPECT_NE(first, std::string::npos);
  EXPECT_EQ(said.find("holds a thread", first + 1), std::string::npos) << "said more than once";
}

// What they wait for ends when the end of MPI has made the runtime say so; another wait would do the same.
TEST_F(HeldTest, TheEndOfMpiWaitsForEveryTaskInFlight) {
  Runtime runtime(Options{.workers = 1, .report_after = std::chrono::milliseconds(20)});
  StandardError errors;
  int first = fake().begin();
  int second = fake().begin();
  int bound = fake().begin();
  const std::array<int, 3> numbers{first, second, bound};
  auto two_waits = runtime.spawn({.label = "two waits"}, [&] {
    wait(first);
    wait(second);
  });
  auto binds = runtime.spawn([&] { iwait(bound); });
  runtime.spawn([] {}).get();  // on the only worker, after the others
  std::thread others([&] {
    errors.wait_for("task 'two waits' waits for MPI_Wait");
    for (const int number : numbers) {
      fake().end(number);
    }
  });
  EXPECT_TRUE(detail::mpi::end_operations());
  EXPECT_TRUE(two_waits.ready());
  EXPECT_TRUE(binds.ready());
  runtime.wait();
  others.join();
}

TEST_F(HeldTest, TheEndOfMpiWaitsForCallsThatHoldAThread) {
  Runtime runtime(Options{.workers = 1, .report_after = std::chrono::milliseconds(20)});
  StandardError errors;
  std::latch call_ends(1);
  std::latch in_call(1);
  auto calls = runtime.spawn({.label = "syncs"}, [&] {
    held("MPI_File_sync", [&] {
      in_call.count_down();
      call_ends.wait();
      return 0;
    });
  });
  in_call.wait();
  std::thread others([&] {
    errors.wait_for("task 'syncs' waits for MPI_File_sync");
    call_ends.count_down();
  });
  EXPECT_TRUE(detail::mpi::end_operations());
  EXPECT_TRUE(calls.ready());
  runtime.wait();
  others.join();
}

TEST_F(HeldTest, TheEndOfMpiWaitsForNothingElse) {
  Runtime runtime(Options{.workers = 1});
  std::latch ends(1);
  auto task = runtime.spawn([&] { ends.wait(); });
  EXPECT_TRUE(detail::mpi::end_operations());
  ends.count_down();
  task.get();
}

}  // namespace
}  // namespace dovetail::comm::mpi::test
