// Fabrics on MPI libraries that end everything late.
// One thread.
#include "comm/rma/message_endpoint.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <numeric>
#include <vector>

#include "comm/rma/fabric.hpp"
#include "fabric_side.hpp"
#include "fake_messages.hpp"
#include "tasking/support.hpp"

namespace dovetail::comm::rma::test {
namespace {

using dovetail::test::Random;
using dovetail::test::scaled;

class MessageEndpointTest : public testing::Test {
 protected:
  static constexpr int ranks = 3;

  MessageEndpointTest() : random_(7), world_(random_) { begin(1); }
  void begin(int tag) {
    sides_.clear();
    for (int rank = 0; rank < ranks; ++rank) {
      if (libraries_.size() < ranks) {
        libraries_.push_back(std::make_unique<FakeMessages>(world_, rank));
      }
      sides_.push_back(std::make_unique<Side>(
          std::make_unique<MessageEndpoint>(*libraries_[static_cast<std::size_t>(rank)], rank, ranks, tag), rank,
          ranks));
    }
    for (int rank = 0; rank < ranks; ++rank) {
      Side& side = *sides_[static_cast<std::size_t>(rank)];
      for (int other = 0; other < ranks; ++other) {
        side.fabric.add_peer(other, sides_[static_cast<std::size_t>(other)]->fabric.address());
      }
      side.registration = side.fabric.register_memory(std::as_writable_bytes(std::span(side.numbers)));
    }
  }
  // All ranks, or those that have not stopped.
  std::size_t drain(int stopped = -1) {
    base::Fifo<Waiter> ended;
    for (int rank = 0; rank < ranks; ++rank) {
      if (rank != stopped) {
        sides_[static_cast<std::size_t>(rank)]->fabric.drain(ended);
      }
    }
    const std::size_t count = ended.size();
    while (Waiter* const each = ended.pop()) {
      each->has_ended = true;
    }
    return count;
  }
  RemoteMemory place(int rank, std::size_t index) {
    RemoteMemory memory = sides_[static_cast<std::size_t>(rank)]->registration->memory();
    memory.address += index * sizeof(std::uint64_t);
    return memory;
  }
  static void begin_write(Fabric& from, int rank, RemoteMemory to, std::span<const std::byte> data, RemoteCall& call) {
    call.what = "write";
    Fabric::begin(call);
    from.write(rank, to, data, nullptr, &call);
    EXPECT_FALSE(from.is_ended_by_caller(call)) << "its end is told by the fabric";
  }

  Random random_;
  FakeMessages::World world_;
  std::vector<std::unique_ptr<FakeMessages>> libraries_;
  std::vector<std::unique_ptr<Side>> sides_;
};

TEST_F(MessageEndpointTest, NoNotificationOvertakesAWriteOrAnotherOne) {
  const auto count = static_cast<std::uint32_t>(scaled(4000, 500));
  for (std::uint32_t id = 0; id < count; ++id) {
    for (const int from : {0, 2}) {
      Fabric& fabric = sides_[static_cast<std::size_t>(from)]->fabric;
      const std::uint64_t value = id + 1;
      const auto data = std::as_bytes(std::span(&value, 1));
      // Each sender has a half of the numbers.
      const Notification notification{
          .segment = 1, .id = id % 2048 + (from == 0 ? 0 : 2048), .value = random_.once_in(3) ? 1U << 20 : 1};
      if (random_.once_in(2)) {
        fabric.write(1, place(1, notification.id), data, &notification, nullptr);
      } else {
        fabric.write(1, place(1, notification.id), data, nullptr, nullptr);
        fabric.notify(1, notification);
      }
    }
    if (random_.once_in(5)) {
      drain();
    }
  }
  for (const int from : {0, 2}) {
    sides_[static_cast<std::size_t>(from)]->fabric.say_goodbye(1);
  }
  while (!sides_[0]->fabric.has_parted(1) || !sides_[2]->fabric.has_parted(1)) {
    drain();
  }
  ASSERT_EQ(sides_[1]->seen.size(), 2 * count);
  std::array<std::uint32_t, ranks> next{};
  for (const Side::Seen& each : sides_[1]->seen) {
    std::uint32_t& id = next[static_cast<std::size_t>(each.rank)];
    EXPECT_EQ(each.notification.id, id % 2048 + (each.rank == 0 ? 0 : 2048));
    EXPECT_GE(each.value, id + 1) << "what was written before is not there";
    ++id;
  }
}

TEST_F(MessageEndpointTest, WhatIsLargerThanAMessageArrivesWhole) {
  constexpr std::size_t numbers = 1 << 20;  // more than may be under way
  std::vector<std::uint64_t> there(numbers);
  std::vector<std::uint64_t> written(numbers);
  std::vector<std::uint64_t> read(numbers);
  std::iota(written.begin(), written.end(), 0U);
  const auto registered = sides_[1]->fabric.register_memory(std::as_writable_bytes(std::span(there)));
  RemoteCall writes;
  begin_write(sides_[0]->fabric, 1, registered->memory(), std::as_bytes(std::span(written)), writes);
  RemoteCall reads;
  Fabric::begin(reads);
  sides_[0]->fabric.read(1, registered->memory(), std::as_writable_bytes(std::span(read)), reads);
  EXPECT_FALSE(sides_[0]->fabric.is_ended_by_caller(reads));
  while (!writes.has_ended || !reads.has_ended) {
    drain();
  }
  EXPECT_EQ(there, written);
  EXPECT_EQ(read, written) << "a read sees what was written before it";
}

TEST_F(MessageEndpointTest, ARankThatHasStoppedHasFewMessagesUnderWayAndHoldsUpNoOther) {
  std::vector<std::uint64_t> data(sides_[1]->numbers.size(), 5);
  std::deque<RemoteCall> calls(200);
  for (RemoteCall& each : calls) {
    begin_write(sides_[0]->fabric, 1, place(1, 0), std::as_bytes(std::span(data)), each);
  }
  RemoteCall other;
  begin_write(sides_[0]->fabric, 2, place(2, 0), std::as_bytes(std::span(data)), other);
  while (!other.has_ended) {
    drain(1);
    EXPECT_LE(libraries_[0]->waiting(1), MessageEndpoint::window);
  }
  EXPECT_EQ(libraries_[0]->waiting(1), MessageEndpoint::window);
  EXPECT_FALSE(calls.back().has_ended);
  while (!calls.back().has_ended) {
    drain();
  }
  for (const RemoteCall& each : calls) {
    EXPECT_TRUE(each.has_ended && !each.cause);
  }
}

// The memory of calls that have failed is gone, and what MPI has still is read later.
TEST_F(MessageEndpointTest, ItKeepsNoMemoryOfCallsThatHaveFailed) {
  std::deque<RemoteCall> calls(200);
  {
    const std::vector<std::uint64_t> data(sides_[1]->numbers.size(), 5);
    std::vector<std::uint64_t> read(data.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (i % 2 == 0) {
        begin_write(sides_[0]->fabric, 1, place(1, 0), std::as_bytes(std::span(data)), calls[i]);
      } else {
        calls[i].what = "read";
        Fabric::begin(calls[i]);
        sides_[0]->fabric.read(1, place(1, 0), std::as_writable_bytes(std::span(read)), calls[i]);
        EXPECT_FALSE(sides_[0]->fabric.is_ended_by_caller(calls[i]));
      }
    }
    base::Fifo<Waiter> ended;
    sides_[0]->fabric.rank_ended(1, [] { return std::string("rank 1 has died"); }, ended);
    while (Waiter* const each = ended.pop()) {
      each->has_ended = true;
    }
  }
  for (int i = 0; i < 1000; ++i) {
    drain();
  }
  for (const RemoteCall& each : calls) {
    EXPECT_TRUE(each.has_ended);
    EXPECT_EQ(each.left, 0U);
  }
  EXPECT_TRUE(calls.back().cause);
  EXPECT_LE(libraries_[0]->sent[1], MessageEndpoint::window) << "it has read memory after the end of its call";
}

TEST_F(MessageEndpointTest, WhatAnEarlierGroupHasSentIsNotForThisOne) {
  const std::uint64_t value = 3;
  const Notification notification{.segment = 1, .id = 0, .value = 1};
  sides_[0]->fabric.write(1, place(1, 0), std::as_bytes(std::span(&value, 1)), &notification, nullptr);
  begin(2);
  for (int i = 0; i < 100; ++i) {
    drain();
  }
  EXPECT_EQ(sides_[1]->seen_so_far(), 0U);
  EXPECT_EQ(sides_[1]->numbers[0], 0U);
  sides_[0]->fabric.write(1, place(1, 0), std::as_bytes(std::span(&value, 1)), &notification, nullptr);
  while (sides_[1]->seen_so_far() == 0) {
    drain();
  }
  EXPECT_EQ(sides_[1]->numbers[0], value);
}

TEST_F(MessageEndpointTest, AWriteOutsideOfSegmentsLosesItsSender) {
  const std::vector<std::uint64_t> data(2, 1);
  sides_[0]->fabric.write(1, place(1, sides_[1]->numbers.size() - 1), std::as_bytes(std::span(data)), nullptr, nullptr);
  sides_[2]->fabric.write(1, {.address = 8, .key = 4711}, std::as_bytes(std::span(data)), nullptr, nullptr);
  while (sides_[1]->losses < 2) {
    drain();
  }
  EXPECT_NE(sides_[1]->why_lost.find("in no segment"), std::string::npos);
}

TEST_F(MessageEndpointTest, ARefusedMessageLosesItsReceiverAlone) {
  libraries_[0]->refused = 1;
  const std::uint64_t value = 3;
  const auto data = std::as_bytes(std::span(&value, 1));
  RemoteCall refused;
  begin_write(sides_[0]->fabric, 1, place(1, 0), data, refused);
  while (sides_[0]->losses == 0) {
    drain();
  }
  EXPECT_EQ(sides_[0]->why_lost, "MPI (Open MPI 9.9.9): it is refused");
  base::Fifo<Waiter> ended;
  sides_[0]->fabric.rank_ended(1, [] { return std::string("rank 1 has gone"); }, ended);
  EXPECT_EQ(ended.size(), 1U);
  EXPECT_TRUE(refused.cause);
  RemoteCall other;
  begin_write(sides_[0]->fabric, 2, place(2, 0), data, other);
  while (!other.has_ended || sides_[2]->numbers[0] != value) {
    drain();
  }
}

// The endpoint of the last rank is the one of the process.
TEST_F(MessageEndpointTest, WhenMpiEndsTheOthersHearAGoodbyeAndCallsFail) {
  const std::vector<std::uint64_t> data(sides_[1]->numbers.size(), 5);
  std::deque<RemoteCall> calls(100);
  for (RemoteCall& each : calls) {
    begin_write(sides_[2]->fabric, 1, place(1, 0), std::as_bytes(std::span(data)), each);
  }
  libraries_[2]->end();
  while (!sides_[0]->has_left) {
    drain();
  }
  while (sides_[2]->losses < 2) {
    drain();
  }
  EXPECT_EQ(sides_[2]->why_lost, "MPI (Open MPI 9.9.9): MPI has been finalised");
  base::Fifo<Waiter> ended;
  sides_[2]->fabric.rank_ended(1, [] { return std::string("rank 1 cannot be reached"); }, ended);
  EXPECT_TRUE(calls.back().cause);
  EXPECT_EQ(calls.back().left, 0U);
}

TEST(MessageLibrary, HasANameOfWhatItSaysOfItself) {
  EXPECT_EQ(name_of_message_library("MPICH Version:\t4.0.2\nMPICH Release date:\tx"), "MPI (MPICH 4.0.2)");
  EXPECT_EQ(name_of_message_library("Open MPI v4.1.4, package: Debian Open MPI"), "MPI (Open MPI 4.1.4)");
  EXPECT_EQ(name_of_message_library("Some MPI Library 2021.5 for Linux\n"), "MPI (Some MPI Library 2021.5 for Linux)");
}

}  // namespace
}  // namespace dovetail::comm::rma::test
