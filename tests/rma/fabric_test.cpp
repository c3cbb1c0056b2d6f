// Two fabrics of one process, which send to each other: with what the provider offers, and with less, as other providers do.
#include "comm/rma/fabric.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "comm/rma/libfabric_endpoint.hpp"
#include "dovetail/rma_error.hpp"
#include "fabric_side.hpp"
#include "libfabric_is_there.hpp"
#include "tasking/support.hpp"

namespace dovetail::comm::rma::test {
namespace {

using dovetail::test::Random;
using dovetail::test::scaled;

struct Mode {
  const char* name;
  bool may_order;
  bool may_skip_registration;
  bool may_carry_data;
  bool may_sleep;
};

class FabricTest : public testing::TestWithParam<Mode> {
 protected:
  void SetUp() override {
    LibfabricOptions options;
    options.provider = "tcp;ofi_rxm";
    options.local_address = "127.0.0.1";
    options.may_order = GetParam().may_order;
    options.may_skip_registration = GetParam().may_skip_registration;
    options.may_carry_data = GetParam().may_carry_data;
    options.may_sleep = GetParam().may_sleep;
    try {
      for (int rank = 0; rank < 2; ++rank) {
        sides_[static_cast<std::size_t>(rank)] = std::make_unique<Side>(open_libfabric(options), rank);
      }
    } catch (const std::runtime_error& error) {
      if (is_without_libfabric(error)) {
        GTEST_SKIP() << error.what();
      }
      throw;
    }
    for (int rank = 0; rank < 2; ++rank) {
      Side& side = *sides_[static_cast<std::size_t>(rank)];
      side.fabric.add_peer(1 - rank, sides_[static_cast<std::size_t>(1 - rank)]->fabric.address());
      side.registration = side.fabric.register_memory(std::as_writable_bytes(std::span(side.numbers)));
      threads_.emplace_back([this, &side] {
        while (!ends_) {
          if (side.fabric.sleep()) {
            base::Fifo<Waiter> ended;
            side.fabric.drain(ended);
            tell(ended);
          }
        }
      });
    }
  }
  void TearDown() override {
    ends_ = true;
    for (const auto& side : sides_) {
      if (side != nullptr) {
        side->fabric.wake();
      }
    }
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  void stop_threads() {
    ends_ = true;
    for (const auto& side : sides_) {
      side->fabric.wake();
    }
    for (std::thread& thread : threads_) {
      thread.join();
    }
    threads_.clear();
  }

  static void tell(base::Fifo<Waiter>& ended) {
    while (Waiter* const each = ended.pop()) {
      each->has_ended.store(true, std::memory_order_release);
    }
  }
  Side& side(int rank) { return *sides_[static_cast<std::size_t>(rank)]; }
  RemoteMemory place(int rank, std::size_t index) {
    RemoteMemory memory = side(rank).registration->memory();
    memory.address += index * sizeof(std::uint64_t);
    return memory;
  }
  // Waits as a thread outside of tasks does, by progress of its own or by that of the fabric's thread.
  template <class Post>
  void call(int from, bool makes_progress, RemoteCall& made, const Post& post) {
    Fabric::begin(made);
    post();
    if (side(from).fabric.is_ended_by_caller(made)) {
      return;
    }
    while (!made.has_ended.load(std::memory_order_acquire)) {
      if (makes_progress) {
        base::Fifo<Waiter> ended;
        side(from).fabric.progress(ended);
        tell(ended);
      }
      std::this_thread::yield();
    }
  }
  void until_seen(int rank, std::size_t count) {
    while (side(rank).seen_so_far() < count) {
      std::this_thread::yield();
    }
  }

  std::array<std::unique_ptr<Side>, 2> sides_;
  std::vector<std::thread> threads_;
  std::atomic<bool> ends_{false};
};

TEST_P(FabricTest, WhatWasWrittenIsThereWhenItsNotificationComes) {
  Random random(1);
  const auto count = static_cast<std::uint32_t>(scaled(500, 100));
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t id = i % 4000;
    const std::uint64_t value = i + 1;
    const auto data = std::as_bytes(std::span(&value, 1));
    // The value of some fits what a write can carry.
    const Notification notification{.segment = 1, .id = id, .value = random.once_in(3) ? (i + 1) | 1U << 20 : i + 1};
    if (random.once_in(2)) {
      side(0).fabric.write(1, place(1, id), data, &notification, nullptr);
    } else {
      side(0).fabric.write(1, place(1, id), data, nullptr, nullptr);
      side(0).fabric.notify(1, notification);
    }
  }
  until_seen(1, count);
  const std::lock_guard lock(side(1).mutex);
  for (std::uint32_t i = 0; i < count; ++i) {
    EXPECT_EQ(side(1).seen[i].rank, 0);
    EXPECT_EQ(side(1).seen[i].value, i + 1);
    EXPECT_EQ(side(1).seen[i].notification.id, i % 4000);
    EXPECT_EQ(side(1).seen[i].notification.value & 0xfffff, i + 1);
  }
}

TEST_P(FabricTest, LargeDataGoesAndComesBack) {
  std::vector<std::uint64_t> sent(4096);
  std::vector<std::uint64_t> back(4096);
  for (const bool makes_progress : {true, false}) {
    std::iota(sent.begin(), sent.end(), makes_progress ? 7 : 70'000);
    RemoteCall writes;
    writes.what = "write";
    call(0, makes_progress, writes,
         [&] { side(0).fabric.write(1, place(1, 0), std::as_bytes(std::span(sent)), nullptr, &writes); });
    RemoteCall reads;
    reads.what = "read";
    const auto bytes = std::as_writable_bytes(std::span(back));
    call(0, makes_progress, reads, [&] {
      side(0).fabric.read(1, place(1, 0), bytes.first(bytes.size() / 2), reads);
      side(0).fabric.read(1, place(1, 2048), bytes.subspan(bytes.size() / 2), reads);
    });
    EXPECT_FALSE(writes.cause || reads.cause);
    EXPECT_EQ(back, sent);
  }
}

// Both sides and the owner change one number at the same time.
TEST_P(FabricTest, NoAdditionIsLost) {
  const std::size_t each = scaled(100, 20);
  const auto add = [&](int from, int to) {
    for (std::size_t i = 0; i < each; ++i) {
      RemoteCall made;
      std::uint64_t before = 0;
      call(from, i % 2 == 0, made, [&] {
        side(from).fabric.change(to, {.kind = Message::Kind::fetch_add, .first = 8, .second = 1}, before, made);
      });
    }
  };
  std::thread first([&] { add(0, 1); });
  std::thread second([&] { add(0, 1); });
  for (std::size_t i = 0; i < each; ++i) {
    std::atomic_ref(side(1).numbers[1]).fetch_add(1);
  }
  first.join();
  second.join();
  RemoteCall swaps;
  std::uint64_t before = 0;
  call(0, true, swaps, [&] {
    side(0).fabric.change(1, {.kind = Message::Kind::compare_swap, .first = 8, .second = 3 * each, .third = 5}, before,
                          swaps);
  });
  EXPECT_EQ(before, 3 * each);
  EXPECT_EQ(std::atomic_ref(side(1).numbers[1]).load(), 5U);
}

TEST_P(FabricTest, WhatIsAbandonedTouchesNoMemoryOfItsCaller) {
  stop_threads();
  std::iota(side(1).numbers.begin(), side(1).numbers.end(), 100);
  std::vector<std::uint64_t> read(2048, 7);
  std::uint64_t before = 7;
  Fabric& from = side(0).fabric;
  {
    RemoteCall reads;
    Fabric::begin(reads);
    const auto bytes = std::as_writable_bytes(std::span(read));
    from.read(1, place(1, 0), bytes.first(bytes.size() / 2), reads);
    from.read(1, place(1, 1024), bytes.subspan(bytes.size() / 2), reads);
    ASSERT_FALSE(from.is_ended_by_caller(reads));
    RemoteCall adds;
    Fabric::begin(adds);
    from.change(1, {.kind = Message::Kind::fetch_add, .first = 8, .second = 1}, before, adds);
    ASSERT_FALSE(from.is_ended_by_caller(adds));
    EXPECT_TRUE(from.abandon(reads));
    EXPECT_TRUE(from.abandon(adds));
  }
  // What was posted goes on, and what comes behind it is whole. Both sides move.
  RemoteCall later;
  std::vector<std::uint64_t> whole(2048);
  Fabric::begin(later);
  from.read(1, place(1, 0), std::as_writable_bytes(std::span(whole)), later);
  RemoteCall adds_later;
  std::uint64_t number = 0;
  Fabric::begin(adds_later);
  from.change(1, {.kind = Message::Kind::fetch_add, .first = 8, .second = 1}, number, adds_later);
  ASSERT_FALSE(from.is_ended_by_caller(later));
  ASSERT_FALSE(from.is_ended_by_caller(adds_later));
  while (!later.has_ended || !adds_later.has_ended) {
    for (int rank = 0; rank < 2; ++rank) {
      base::Fifo<Waiter> ended;
      side(rank).fabric.drain(ended);
      EXPECT_LE(ended.size(), 2U);
      tell(ended);
    }
  }
  EXPECT_EQ(number, 102U) << "the abandoned addition was made";
  EXPECT_EQ(whole[2047], 2147U);
  EXPECT_EQ(read, std::vector<std::uint64_t>(2048, 7));
  EXPECT_EQ(before, 7U);
  EXPECT_FALSE(from.abandon(later)) << "it has ended";
}

TEST_P(FabricTest, WhatWaitsFailsWithTheRank) {
  stop_threads();  // nothing of rank 1 moves any more
  std::uint64_t number = 0;
  RemoteCall reads;
  reads.what = "read";
  reads.rank = 1;
  std::uint64_t before = 0;
  RemoteCall adds;
  adds.what = "atomic operation";
  adds.rank = 1;
  Fabric& from = side(0).fabric;
  Fabric::begin(reads);
  from.read(1, place(1, 0), std::as_writable_bytes(std::span(&number, 1)), reads);
  EXPECT_FALSE(from.is_ended_by_caller(reads));
  Fabric::begin(adds);
  from.change(1, {.kind = Message::Kind::fetch_add, .second = 1}, before, adds);
  EXPECT_FALSE(from.is_ended_by_caller(adds));
  base::Fifo<Waiter> ended;
  from.rank_ended(1, [] { return std::string("rank 1 has died"); }, ended);
  EXPECT_EQ(ended.size(), 2U);
  RemoteCall later;
  later.what = "read";
  later.rank = 1;
  Fabric::begin(later);
  from.read(1, place(1, 0), std::as_writable_bytes(std::span(&number, 1)), later);
  EXPECT_TRUE(from.is_ended_by_caller(later));
  for (RemoteCall* const each : {&reads, &adds, &later}) {
    try {
      ASSERT_TRUE(each->cause);
      std::rethrow_exception(each->cause);
    } catch (const dovetail::rma::Error& error) {
      EXPECT_NE(std::string(error.what()).find("failed: rank 1 has died"), std::string::npos) << error.what();
      EXPECT_EQ(error.rank(), 1);
    }
  }
  EXPECT_TRUE(from.has_parted(1));
}

TEST_P(FabricTest, AGoodbyeIsAnsweredBehindWhatWasSentBefore) {
  const std::uint32_t count = 200;
  for (std::uint32_t id = 0; id < count; ++id) {
    side(0).fabric.notify(1, {.id = id, .value = 1});
  }
  EXPECT_FALSE(side(0).fabric.has_parted(1));
  side(0).fabric.say_goodbye(1);
  while (!side(0).fabric.has_parted(1)) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(side(1).has_left);
  EXPECT_EQ(side(1).seen_so_far(), count);
  side(1).fabric.say_taken(0, 17);
  while (side(0).taken_there != 17) {
    std::this_thread::yield();
  }
}

// Behind all that was written, and not before what was read is here.
TEST_P(FabricTest, ASegmentIsLeftBehindWhatWasSentForIt) {
  const std::uint32_t count = 200;
  for (std::uint32_t id = 0; id < count; ++id) {
    side(0).fabric.notify(1, {.id = id, .value = 1});
  }
  std::vector<std::uint64_t> read(4096);
  RemoteCall reads;
  Fabric::begin(reads);
  side(0).fabric.read(1, place(1, 0), std::as_writable_bytes(std::span(read)), reads);
  // Abandoned, it still reads memory of the other side.
  if (!side(0).fabric.is_ended_by_caller(reads) && !side(0).fabric.abandon(reads)) {
    while (!reads.has_ended.load(std::memory_order_acquire)) {
      std::this_thread::yield();
    }
  }
  while (!side(0).fabric.leave(1, 7, place(1, 0))) {
    EXPECT_EQ(side(1).left_segment, -1);
    std::this_thread::yield();
  }
  while (side(1).left_segment != 7) {
    std::this_thread::yield();
  }
  EXPECT_EQ(side(1).seen_when_left, count);
}

INSTANTIATE_TEST_SUITE_P(Providers, FabricTest,
                         testing::Values(Mode{"as_it_is", true, true, true, true},
                                         Mode{"with_less", false, false, false, false},
                                         Mode{"without_data", true, true, false, true}),
                         [](const auto& mode) { return std::string(mode.param.name); });

}  // namespace
}  // namespace dovetail::comm::rma::test
