// The notifications of a segment, without processes.
// One thread.
#include "comm/rma/notifications.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <vector>

#include "comm/rma/mailbox.hpp"
#include "comm/rma/pace.hpp"

namespace dovetail::comm::rma::test {
namespace {

struct Range : Await {
  Range(std::uint32_t begin, std::uint32_t length, std::uint32_t* where = nullptr, bool any = false) {
    first = begin;
    count = length;
    values = where;
    for_any = any;
  }
};

TEST(NotificationsTest, WhatHasComeIsTakenOnce) {
  Notifications notifications(8);
  EXPECT_EQ(notifications.take(3), std::nullopt);
  EXPECT_EQ(notifications.arrive(3, 7), nullptr);
  EXPECT_EQ(notifications.take(3), 7U);
  EXPECT_EQ(notifications.take(3), std::nullopt);
}

TEST(NotificationsTest, WhatWasNotTakenIsReplaced) {
  Notifications notifications(8);
  notifications.arrive(3, 7);
  notifications.arrive(3, ~0U);
  EXPECT_EQ(notifications.take(3), ~0U);
}

TEST(NotificationsTest, AWaitForAllEndsWithTheLastOne) {
  Notifications notifications(8);
  std::array<std::uint32_t, 3> values{};
  notifications.arrive(3, 30);
  Range await(2, 3, values.data());
  ASSERT_FALSE(notifications.await(await));
  EXPECT_EQ(notifications.take(3), std::nullopt) << "the wait has taken it";
  EXPECT_EQ(notifications.arrive(5, 1), nullptr) << "beyond the range";
  EXPECT_EQ(notifications.arrive(4, 40), nullptr);
  EXPECT_EQ(notifications.arrive(4, 41), nullptr) << "a second one is for the next wait";
  EXPECT_EQ(notifications.arrive(2, 20), &await);
  EXPECT_EQ(values, (std::array<std::uint32_t, 3>{20, 30, 40}));
  EXPECT_EQ(notifications.take(4), 41U);
  EXPECT_EQ(notifications.take(5), 1U);
}

TEST(NotificationsTest, AWaitForWhatIsThereEndsAtOnce) {
  Notifications notifications(4);
  for (std::uint32_t id = 0; id < 4; ++id) {
    notifications.arrive(id, id + 1);
  }
  std::array<std::uint32_t, 4> values{};
  Range await(0, 4, values.data());
  EXPECT_TRUE(notifications.await(await));
  EXPECT_EQ(values, (std::array<std::uint32_t, 4>{1, 2, 3, 4}));
}

TEST(NotificationsTest, AWaitForAnyEndsWithTheFirstOneAndLeavesTheOthers) {
  Notifications notifications(8);
  Range await(0, 8, nullptr, true);
  ASSERT_FALSE(notifications.await(await));
  EXPECT_EQ(notifications.arrive(6, 60), &await);
  EXPECT_EQ(await.found, 6U);
  EXPECT_EQ(await.found_value, 60U);
  EXPECT_EQ(notifications.arrive(1, 10), nullptr);
  Range next(0, 8, nullptr, true);
  EXPECT_TRUE(notifications.await(next));
  EXPECT_EQ(next.found, 1U);
  EXPECT_EQ(next.found_value, 10U);
}

TEST(NotificationsTest, SaysWhetherAWaitWouldEndAtOnceAndTakesNothing) {
  Notifications notifications(8);
  const Range all(2, 2);
  const Range any(2, 2, nullptr, true);
  EXPECT_FALSE(notifications.has_come(all) || notifications.has_come(any));
  notifications.arrive(1, 1);
  notifications.arrive(4, 1);
  EXPECT_FALSE(notifications.has_come(all) || notifications.has_come(any)) << "beyond the range";
  notifications.arrive(3, 1);
  EXPECT_FALSE(notifications.has_come(all));
  EXPECT_TRUE(notifications.has_come(any));
  notifications.arrive(2, 1);
  EXPECT_TRUE(notifications.has_come(all));
  EXPECT_EQ(notifications.take(3), 1U);
  Range waits(3, 1);
  EXPECT_FALSE(notifications.await(waits));
  EXPECT_FALSE(notifications.has_come(all)) << "another wait is no value";
  EXPECT_FALSE(notifications.has_come(any)) << "and one that would be refused does not end";
}

TEST(NotificationsTest, OneWaitForEach) {
  Notifications notifications(8);
  Range first(2, 2, nullptr);
  ASSERT_FALSE(notifications.await(first));
  notifications.arrive(1, 5);
  Range second(1, 2, nullptr);
  EXPECT_THROW(notifications.await(second), std::logic_error);
  EXPECT_EQ(notifications.take(1), 5U) << "a refused wait takes nothing";
  EXPECT_EQ(notifications.arrive(2, 1), nullptr);
  EXPECT_EQ(notifications.arrive(3, 1), &first);
}

TEST(NotificationsTest, AForgottenWaitIsNowhere) {
  Notifications notifications(8);
  Range await(0, 4, nullptr);
  notifications.await(await);
  notifications.arrive(1, 1);
  notifications.forget(await);
  std::vector<const Await*> seen;
  notifications.for_each([&](const Await& one) { seen.push_back(&one); });
  EXPECT_TRUE(seen.empty());
  EXPECT_EQ(notifications.arrive(0, 9), nullptr);
  EXPECT_EQ(notifications.take(0), 9U);
}

TEST(RingTest, KeepsOrderAndSaysWhenItIsFull) {
  const auto ring = std::make_unique<Ring>();
  std::uint64_t put = 0;
  std::uint64_t taken = 0;
  constexpr std::uint32_t most = Ring::capacity;
  for (std::uint32_t i = 0; i < most; ++i) {
    ASSERT_TRUE(ring->put({.segment = 255, .id = Notification::most_ids - 1, .value = i + 1}, put));
  }
  EXPECT_FALSE(ring->put({.value = 1}, put));
  for (std::uint32_t i = 0; i < most; ++i) {
    const auto one = ring->take(taken);
    ASSERT_TRUE(one);
    EXPECT_EQ(one->segment, 255);
    EXPECT_EQ(one->id, Notification::most_ids - 1);
    EXPECT_EQ(one->value, i + 1);
    EXPECT_TRUE(ring->put({.value = i + 10}, put)) << "what was taken makes room";
  }
  EXPECT_EQ(ring->take(taken)->value, 10U);
}

TEST(MailboxTest, WhoPutsWakesASleeperOnce) {
  std::vector<std::uint64_t> memory(Mailbox::bytes(1) / 8 + 8);
  void* start = memory.data();
  std::size_t room = memory.size() * 8;
  std::align(64, Mailbox::bytes(1), start, room);
  const Mailbox mailbox(static_cast<std::byte*>(start));
  EXPECT_FALSE(mailbox.must_ring());
  mailbox.say_asleep();
  EXPECT_TRUE(mailbox.must_ring());
  EXPECT_FALSE(mailbox.must_ring());
  mailbox.say_asleep();
  mailbox.say_awake();
  EXPECT_FALSE(mailbox.must_ring());
}

TEST(IntervalTest, GetsLongInALongWaitAndAFindEndsThat) {
  Interval interval;
  EXPECT_EQ(interval.now(), Interval::shortest);
  for (int i = 0; i < 100; ++i) {
    interval.polled(false);
  }
  EXPECT_EQ(interval.now(), Interval::longest);
  interval.polled(true);
  EXPECT_EQ(interval.now(), Interval::shortest);
  interval.polled(false);
  EXPECT_GT(interval.now(), Interval::shortest);
  interval.found();
  EXPECT_EQ(interval.now(), Interval::shortest);
}

}  // namespace
}  // namespace dovetail::comm::rma::test
