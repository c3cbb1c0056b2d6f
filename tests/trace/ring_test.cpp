#include "trace/ring.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace dovetail::trace {
namespace {

// All words of an event say its number, so that half an event shows.
Event numbered(std::uint64_t number) { return {number, number, number, number}; }

void expect_whole(const Event& event) {
  EXPECT_EQ(event.id, event.stamp);
  EXPECT_EQ(event.value, event.stamp);
  EXPECT_EQ(event.detail, event.stamp);
}

TEST(Ring, KeepsAllUntilItIsFull) {
  Ring ring(16);
  for (std::uint64_t i = 0; i < 15; ++i) ring.push(numbered(i));
  std::vector<Event> events;
  EXPECT_EQ(ring.read(events), 0U);
  ASSERT_EQ(events.size(), 15U);
  for (std::uint64_t i = 0; i < 15; ++i) EXPECT_EQ(events[i].id, i);
}

TEST(Ring, OverwritesTheOldestAndCountsThem) {
  Ring ring(16);
  for (std::uint64_t i = 0; i < 1000; ++i) ring.push(numbered(i));
  std::vector<Event> events;
  EXPECT_EQ(ring.read(events), 985U);
  ASSERT_EQ(events.size(), 15U);
  for (std::uint64_t i = 0; i < 15; ++i) EXPECT_EQ(events[i].id, 985 + i);
  EXPECT_EQ(ring.written(), 1000U);
}

TEST(Ring, ForgetsWithoutLosingCount) {
  Ring ring(16);
  for (std::uint64_t i = 0; i < 40; ++i) ring.push(numbered(i));
  ring.forget();
  std::vector<Event> events;
  EXPECT_EQ(ring.read(events), 0U);
  EXPECT_TRUE(events.empty());
  ring.push(numbered(40));
  EXPECT_EQ(ring.read(events), 0U);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].id, 40U);
  for (std::uint64_t i = 41; i < 80; ++i) ring.push(numbered(i));
  events.clear();
  EXPECT_EQ(ring.read(events), 25U);
  EXPECT_EQ(events.size(), 15U);
}

TEST(Ring, AppendsToWhatTheReaderHas) {
  Ring ring(16);
  ring.push(numbered(7));
  std::vector<Event> events{numbered(1), numbered(2)};
  ring.read(events);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].id, 1U);
  EXPECT_EQ(events[2].id, 7U);
}

// The writer laps the reader all the time; what the reader gets is whole and without gaps nevertheless.
TEST(Ring, CanBeReadWhileItIsWritten) {
  Ring ring(64);
  std::atomic<bool> enough{false};
  std::thread writer([&] {
    for (std::uint64_t i = 0; !enough.load(std::memory_order_relaxed); ++i) ring.push(numbered(i));
  });
  std::uint64_t seen = 0;
  std::vector<Event> events;
  while (seen < 20'000) {
    events.clear();
    const std::uint64_t lost = ring.read(events);
    for (std::size_t i = 0; i < events.size(); ++i) {
      expect_whole(events[i]);
      EXPECT_EQ(events[i].id, lost + i);
    }
    seen += events.size();
    if (testing::Test::HasFailure()) break;
    if (events.empty()) std::this_thread::yield();
  }
  enough = true;
  writer.join();
}

}  // namespace
}  // namespace dovetail::trace
