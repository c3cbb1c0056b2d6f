// What is known of requests that the program starts by itself.
#include "comm/mpi/begun_requests.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "dovetail/mpi_error.hpp"
#include "fake_library.hpp"
#include "standard_error.hpp"
#include "tasking/support.hpp"
#include "trace/trace.hpp"

namespace dovetail::comm::mpi::test {
namespace {

constexpr BegunCall receives{"MPI_Irecv", true, true};
constexpr BegunCall sends{"MPI_Isend", false, true};

class BegunRequestsTest : public testing::Test {
 protected:
  const std::unique_ptr<BegunRequests> begun_{new BegunRequests{}};
};

TEST_F(BegunRequestsTest, AHandleIsThatOfTheLastRequestThatHadIt) {
  EXPECT_FALSE(begun_->find(7));
  EXPECT_EQ(begun_->add(7, {.call = &receives, .peer = 1, .tag = 2}), 0U);
  EXPECT_EQ(begun_->add(8, {.call = &receives, .peer = 3, .tag = 4}), 0U);
  EXPECT_EQ(begun_->add(7, {.call = &sends, .peer = 5, .tag = 6}), 0U);
  for (int time = 0; time < 2; ++time) {
    const auto found = begun_->find(7);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->call, &sends);
    EXPECT_EQ(found->peer, 5);
    EXPECT_EQ(found->tag, 6);
  }
  EXPECT_EQ(begun_->find(8)->peer, 3);
  EXPECT_FALSE(begun_->find(9));
}

TEST_F(BegunRequestsTest, AMessageOfATraceIsTakenOnceAndToldWhenItIsForgotten) {
  const Channel world{"MPI_COMM_WORLD", {}};
  EXPECT_EQ(begun_->add(7, {.call = &receives, .message = 1, .channel = &world}), 0U);
  EXPECT_EQ(begun_->add(7, {.call = &receives, .message = 2, .channel = &world}), 1U);
  const auto taken = begun_->take_message(7);
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->message, 2U);
  EXPECT_EQ(taken->channel, &world);
  EXPECT_FALSE(begun_->take_message(7)) << "it is known once";
  EXPECT_TRUE(begun_->find(7)) << "what it is, is still known";
  EXPECT_FALSE(begun_->take_message(8));
}

// Handles as MPICH has them, and as Open MPI has them.
TEST_F(BegunRequestsTest, ThousandsAreKnownAtOnce) {
  constexpr std::uint64_t count = 5'000;
  for (const auto& [first, step] : {std::pair<std::uint64_t, std::uint64_t>{0x2c000000, 1}, {0x55555575b380, 512}}) {
    for (std::uint64_t i = 0; i < count; ++i) {
      begun_->add(first + i * step, {.call = &receives, .tag = static_cast<int>(i)});
    }
    std::uint64_t known = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto found = begun_->find(first + i * step);
      known += found && found->tag == static_cast<int>(i) ? 1U : 0U;
    }
    EXPECT_GT(known, count - count / 50) << "beginning with " << first;
  }
}

TEST_F(BegunRequestsTest, WhereThereAreTooManyTheOldestIsForgottenAndItsMessageTold) {
  constexpr std::uint64_t count = 200'000;  // more than there is room for
  std::uint64_t told = 0;
  std::uint64_t known = 0;
  for (std::uint64_t handle = 1; handle <= count; ++handle) {
    told += begun_->add(handle, {.call = &receives, .tag = static_cast<int>(handle), .message = handle}) != 0 ? 1U : 0U;
    ASSERT_EQ(begun_->find(handle)->tag, static_cast<int>(handle));
  }
  for (std::uint64_t handle = 1; handle <= count; ++handle) {
    known += begun_->take_message(handle) ? 1U : 0U;
  }
  EXPECT_EQ(told + known, count);
  EXPECT_GT(known, std::uint64_t{1} << BegunRequests::bits_of_sets);
}

TEST_F(BegunRequestsTest, NumbersAreNoAddresses) {
  const std::uint64_t first = BegunRequests::next_number();
  EXPECT_NE(first, BegunRequests::next_number());
  const int somewhere = 0;
  EXPECT_GT(first, trace::number_of(&somewhere) | (trace::number_of(&somewhere) >> 1U));
}

// Each thread has requests of its own, and all use one set, which has room for three. What is known is right, and no message is told twice.
TEST_F(BegunRequestsTest, AnyThread) {
  constexpr std::uint64_t rounds = 20'000;
  std::vector<std::thread> threads;
  std::vector<std::atomic<int>> told(4 * rounds);
  std::atomic<int> known{0};
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t round = 0; round < rounds; ++round) {
        // The inverse of the factor by which handles are spread over the sets.
        const std::uint64_t handle = (1 + thread + 4 * (round % 2)) * 0xF1DE'83E1'9937'733D;
        const std::uint64_t message = thread < 2 ? 0 : thread * rounds + round;
        ++told[begun_->add(
            handle,
            {.call = &receives, .peer = static_cast<int>(thread), .tag = static_cast<int>(round), .message = message})];
        const auto found = round % 3 == 0 ? begun_->take_message(handle) : begun_->find(handle);
        if (found) {
          ++known;
          told[round % 3 == 0 ? found->message : 0] += 1;
          ASSERT_EQ(found->peer, static_cast<int>(thread));
          ASSERT_EQ(found->tag, static_cast<int>(round));
          ASSERT_EQ(found->message, message);
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_GT(known, 0);
  EXPECT_TRUE(std::all_of(told.begin() + 1, told.end(), [](const auto& times) { return times <= 1; }));
}

void note(int request, int peer, int tag) {
  detail::mpi::note_begun(receives, static_cast<std::uint64_t>(request), {}, peer, tag);
}

TEST(NotedRequests, ErrorsNameThemAndTheirCommunicatorIsLeftAlone) {
  const std::size_t before = fake().expected();
  Runtime runtime(Options{.workers = 1});
  for (const bool binds : {true, false}) {
    int request = fake().begin();
    note(request, 2, 30);
    fake().end(request, code_of_failure);
    auto fails = runtime.spawn([&] { binds ? iwait(request) : wait(request); });
    try {
      fails.get();
      ADD_FAILURE() << "the task has not failed";
    } catch (const TaskFailed& failure) {
      try {
        std::rethrow_exception(failure.cause());
      } catch (const dovetail::mpi::Error& error) {
        EXPECT_STREQ(error.what(), "MPI_Irecv from rank 2 with tag 30 in MPI_COMM_WORLD: fake error 15");
        EXPECT_EQ(error.call(), "MPI_Irecv");
        EXPECT_EQ(error.peer(), 2);
        EXPECT_EQ(error.tag(), 30);
      }
    }
  }
  EXPECT_EQ(fake().expected(), before) << "the program may have freed the communicator of its request";
}

// As Python has them: by their addresses. One has ended, one is null, one was begun by a call that nobody has noted.
TEST(NotedRequests, TheReportNamesTheFirstThatHasNotEnded) {
  fake();
  require_library(Abi::mpich);
  std::vector<int> requests{fake().begin(), null_request, fake().begin(), fake().begin(), fake().begin()};
  note(requests[0], 1, 1);
  fake().end(requests[0]);
  note(requests[3], 1, 3);
  note(requests[4], 1, 4);
  std::vector<const void*> addresses;
  for (const int& request : requests) {
    addresses.push_back(&request);
  }
  dovetail::test::StandardError error;
  std::string said;
  {
    Runtime runtime(Options{.workers = 1, .report_after = std::chrono::milliseconds(30)});
    auto waits = runtime.spawn([&] { detail::mpi::wait_until_ended(addresses.data(), addresses.size()); });
    std::thread ender([&] {
      error.wait_for("waits for MPI_Wait");
      for (const int request : {requests[2], requests[3], requests[4]}) {
        fake().end(request);
      }
    });
    waits.get();
    ender.join();
    said = error.end();
  }
  EXPECT_NE(said.find("MPI_Wait for MPI_Irecv from rank 1 with tag 3 in MPI_COMM_WORLD and 2 others"),
            std::string::npos)
      << said;
}

}  // namespace
}  // namespace dovetail::comm::mpi::test
