// Messages by a GASPI that ends everything late, and fabrics on them.
// One thread.
#include "comm/rma/gaspi_messages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "comm/rma/message_endpoint.hpp"
#include "fabric_side.hpp"
#include "fake_gaspi.hpp"
#include "tasking/support.hpp"

namespace dovetail::comm::rma::test {
namespace {

using dovetail::test::Random;
using dovetail::test::scaled;
using State = MessageLibrary::State;

class GaspiMessagesTest : public testing::Test {
 protected:
  static constexpr std::size_t ranks = 3;
  static constexpr int tag = 7;

  GaspiMessagesTest() : random_(11), gaspi_(ranks, random_), functions_(gaspi_.functions()) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      gaspi_.act_as(rank);
      libraries_.push_back(std::make_unique<GaspiMessages>(functions_));
    }
  }
  ~GaspiMessagesTest() override { EXPECT_EQ(gaspi_.mistakes, 0U) << "a queue was too full, or a segment not known"; }

  GaspiMessages& as(std::size_t rank) {
    gaspi_.act_as(rank);
    return *libraries_[rank];
  }
  // All ranks do it, until it has ended at all.
  template <class Step>
  void all(Step&& step) {
    std::array<bool, ranks> has_ended{};
    while (!std::ranges::all_of(has_ended, [](bool each) { return each; })) {
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        if (!has_ended[rank]) {
          const State state = step(as(rank), rank);
          ASSERT_NE(state, State::failed) << libraries_[rank]->failure();
          has_ended[rank] = state == State::ended;
        }
      }
      gaspi_.step();
    }
  }
  void make_channels() {
    all([](GaspiMessages& library, std::size_t /*rank*/) { return library.make_channel(); });
  }
  // Takes a message, if there is one.
  bool take(std::size_t rank, MessageLibrary::Found& found, std::vector<std::byte>& bytes) {
    if (as(rank).find(found) != State::ended) {
      return false;
    }
    bytes.resize(found.bytes);
    MessageLibrary::RequestHandle request;
    EXPECT_TRUE(libraries_[rank]->receive(found, bytes, request));
    EXPECT_EQ(libraries_[rank]->test(request), State::ended);
    return true;
  }

  Random random_;
  FakeGaspi gaspi_;
  const Gaspi functions_;
  std::vector<std::unique_ptr<GaspiMessages>> libraries_;
};

// More than a ring has room for, so that its places are used again while much is under way.
TEST_F(GaspiMessagesTest, MessagesArriveWholeAndInOrder) {
  make_channels();
  struct Sent {
    std::vector<std::byte> bytes;
    MessageLibrary::RequestHandle request;
  };
  const std::size_t count = scaled(600, 200);
  std::vector<std::byte> pattern(Frames::largest + 256);
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    pattern[at] = static_cast<std::byte>(at % 251);
  }
  const auto content = [&](std::size_t from, std::size_t number, std::size_t size) {
    return std::span(pattern).subspan((from * 31 + number * 7) % 256, size);
  };
  std::array<std::array<std::deque<Sent>, ranks>, ranks> sent;
  std::array<std::array<std::size_t, ranks>, ranks> begun{};
  std::array<std::array<std::size_t, ranks>, ranks> taken{};
  std::size_t left = ranks * (ranks - 1) * count;
  std::size_t busy = ranks;  // it takes nothing for a while, so that rings get full
  MessageLibrary::Found found;
  std::vector<std::byte> bytes;
  while (left > 0) {
    if (random_.once_in(8)) {
      busy = random_.between(0, ranks);
    }
    for (std::size_t from = 0; from < ranks; ++from) {
      for (std::size_t to = 0; to < ranks; ++to) {
        auto& under_way = sent[from][to];
        if (to != from && begun[from][to] < count && under_way.size() < 32) {
          const std::size_t number = begun[from][to]++;
          Sent& next = under_way.emplace_back();
          next.bytes.resize(random_.once_in(3) ? Frames::largest : random_.between(0, 300));
          std::ranges::copy(content(from, number, next.bytes.size()), next.bytes.begin());
          ASSERT_TRUE(as(from).send(next.bytes, static_cast<int>(to), static_cast<int>(number), next.request));
        }
        // Memory of a message that has ended is another one's.
        while (!under_way.empty() && as(from).test(under_way.front().request) == State::ended) {
          std::ranges::fill(under_way.front().bytes, std::byte{0xee});
          under_way.pop_front();
        }
      }
      while (from != busy && take(from, found, bytes)) {
        const auto sender = static_cast<std::size_t>(found.rank);
        const std::size_t number = taken[sender][from]++;
        ASSERT_EQ(found.tag, static_cast<int>(number));
        ASSERT_TRUE(std::ranges::equal(bytes, content(sender, number, bytes.size()))) << "message " << number;
        --left;
      }
    }
    gaspi_.step();
  }
}

TEST_F(GaspiMessagesTest, WhoHasAChannelMayWriteToAll) {
  const std::vector<std::byte> bytes(8);
  all([&](GaspiMessages& library, std::size_t rank) {
    const State state = library.make_channel();
    for (std::size_t other = 0; state == State::ended && other < ranks; ++other) {
      MessageLibrary::RequestHandle request;
      EXPECT_TRUE(other == rank || library.send(bytes, static_cast<int>(other), tag, request)) << library.failure();
    }
    return state;
  });
}

TEST_F(GaspiMessagesTest, CardsOfAllAreExchangedAgainAndAgain) {
  make_channels();
  constexpr std::size_t bytes = 256;
  for (unsigned round = 0; round < 20; ++round) {
    std::array<std::array<std::byte, bytes>, ranks> own{};
    std::array<std::array<std::byte, ranks * bytes>, ranks> found{};
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      own[rank].fill(static_cast<std::byte>(10 * round + rank));
    }
    all([&](GaspiMessages& library, std::size_t rank) { return library.gather(own[rank], found[rank]); });
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      for (std::size_t at = 0; at < found[rank].size(); ++at) {
        ASSERT_EQ(found[rank][at], own[at / bytes][0]) << "round " << round;
      }
    }
  }
}

TEST_F(GaspiMessagesTest, ARankThatHasStoppedHoldsUpNoOther) {
  make_channels();
  gaspi_.stopped = 1;
  const std::vector<std::byte> large(Frames::largest);
  std::vector<MessageLibrary::RequestHandle> requests(4);
  for (MessageLibrary::RequestHandle& each : requests) {
    ASSERT_TRUE(as(0).send(large, 1, tag, each));
  }
  MessageLibrary::Found found;
  std::vector<std::byte> bytes;
  for (int i = 0; i < 100; ++i) {
    MessageLibrary::RequestHandle request;
    ASSERT_TRUE(as(0).send(large, 2, tag, request));
    while (!take(2, found, bytes)) {
      EXPECT_FALSE(take(0, found, bytes));
      gaspi_.step();
    }
    EXPECT_EQ(as(0).test(request), State::ended);
  }
}

TEST_F(GaspiMessagesTest, WhatCannotBePostedFailsWithTheCall) {
  make_channels();
  gaspi_.refused = 1;
  const std::vector<std::byte> bytes(8);
  MessageLibrary::RequestHandle request;
  EXPECT_FALSE(as(0).send(bytes, 1, tag, request));
  EXPECT_EQ(libraries_[0]->failure(), "gaspi_write_notify has failed (-1)");
  EXPECT_TRUE(as(0).send(bytes, 2, tag, request));
  EXPECT_FALSE(as(0).send(std::vector<std::byte>(GaspiMessages::largest_ring), 2, tag, request));
  EXPECT_NE(libraries_[0]->failure().find("too long"), std::string::npos);
}

TEST_F(GaspiMessagesTest, ItSaysWhyItIsOfNoUse) {
  EXPECT_EQ(as(1).why_not(1, 3), "");
  EXPECT_EQ(as(1).why_not(0, 3), "this process is rank 0 of 3, and of GASPI rank 1 of 3");
  gaspi_.notifications = 8;
  EXPECT_EQ(as(1).why_not(1, 3), "its segments have 8 notifications, and 3 ranks need 4 each");
  gaspi_.is_segment_taken = true;
  State state = State::under_way;
  while (state == State::under_way) {
    state = as(1).make_channel();
  }
  EXPECT_EQ(state, State::failed);
  EXPECT_EQ(libraries_[1]->failure(), "gaspi_segment_alloc has failed (10): segment 3 must be left to Dovetail");
  gaspi_.is_initialized = false;
  EXPECT_EQ(as(1).why_not(1, 3), "the program has called gaspi_proc_term");
}

TEST_F(GaspiMessagesTest, WhenTheProgramHasEndedGaspiNothingIsFound) {
  make_channels();
  gaspi_.is_initialized = false;
  MessageLibrary::Found found;
  EXPECT_EQ(as(0).find(found), State::failed);
  EXPECT_EQ(libraries_[0]->failure(), "the program has called gaspi_proc_term");
}

TEST_F(GaspiMessagesTest, AFabricWritesAndNotifiesByIt) {
  make_channels();
  std::vector<std::unique_ptr<Side>> sides;
  const auto of = [&](std::size_t rank) -> Side& {
    gaspi_.act_as(rank);
    return *sides[rank];
  };
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    sides.push_back(std::make_unique<Side>(
        std::make_unique<MessageEndpoint>(*libraries_[rank], static_cast<int>(rank), static_cast<int>(ranks), tag),
        static_cast<int>(rank), static_cast<int>(ranks)));
    of(rank).registration =
        sides[rank]->fabric.register_memory(std::as_writable_bytes(std::span(sides[rank]->numbers)));
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (std::size_t other = 0; other < ranks; ++other) {
      of(rank).fabric.add_peer(static_cast<int>(other), sides[other]->fabric.address());
    }
  }
  EXPECT_EQ(sides[0]->fabric.name(), "GASPI (GPI-2 1.6)");
  const auto count = static_cast<std::uint32_t>(scaled(4000, 500));
  base::Fifo<Waiter> ended;
  for (std::uint32_t id = 0; id < count; ++id) {
    const std::uint64_t value = id + 1;
    RemoteMemory place = sides[1]->registration->memory();
    place.address += id % 4096 * sizeof value;
    const Notification notification{.segment = 1, .id = id % 4096, .value = 1};
    of(0).fabric.write(1, place, std::as_bytes(std::span(&value, 1)), &notification, nullptr);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      of(rank).fabric.drain(ended);
    }
    gaspi_.step();
  }
  while (sides[1]->seen_so_far() < count) {
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      of(rank).fabric.drain(ended);
    }
    gaspi_.step();
  }
  for (std::uint32_t id = 0; id < count; ++id) {
    EXPECT_EQ(sides[1]->seen[id].notification.id, id % 4096);
    EXPECT_EQ(sides[1]->seen[id].value, id + 1) << "what was written before is not there";
  }
}

}  // namespace
}  // namespace dovetail::comm::rma::test
