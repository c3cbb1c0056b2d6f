// When a core makes writes by itself.
#include "device/in_place_writes.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include "base/clock.hpp"

namespace dovetail::device {
namespace {

const std::uint64_t millisecond = 1000 * base::ticks_per_microsecond();
constexpr std::uint64_t some_bytes = 4096;

// A moment, far enough from zero.
constexpr std::uint64_t start = std::uint64_t{1} << 60;

void let_this_thread_wait() { poll(nullptr, 0, 1); }

TEST(InPlaceWritesTest, AllAreMadeAsLongAsNoneTakesLong) {
  InPlaceWrites writes;
  for (std::uint64_t now = start; now < start + 100 * millisecond; now += millisecond) {
    const InPlaceWrites::Attempt attempt = writes.begin(now);
    ASSERT_TRUE(attempt.allowed);
    EXPECT_EQ(attempt.waits, -1) << "counting the waits of each write would cost as much as the write";
    let_this_thread_wait();
    writes.ended(attempt, now + millisecond / 100, some_bytes);
  }
}

TEST(InPlaceWritesTest, ALongWriteThatDidNotWaitChangesNothing) {
  InPlaceWrites writes;
  for (int i = 0; i < 10; ++i) {
    const InPlaceWrites::Attempt attempt = writes.begin(start);
    ASSERT_TRUE(attempt.allowed);
    writes.ended(attempt, start + 10 * millisecond, some_bytes);
  }
  EXPECT_TRUE(writes.begin(start).allowed);
}

// A write that begins at `now`, takes so long, and waits or not.
bool write_once(InPlaceWrites& writes, std::uint64_t& now, std::uint64_t ticks, bool waits) {
  const InPlaceWrites::Attempt attempt = writes.begin(now);
  if (!attempt.allowed) {
    return false;
  }
  if (waits) {
    let_this_thread_wait();
  }
  now += ticks;
  writes.ended(attempt, now, some_bytes);
  return true;
}

TEST(InPlaceWritesTest, AfterTwoThatWaitedNoneIsMadeFor64TimesAsLong) {
  InPlaceWrites writes;
  std::uint64_t now = start;
  EXPECT_TRUE(write_once(writes, now, 10 * millisecond, true));
  EXPECT_TRUE(write_once(writes, now, 10 * millisecond, true));
  EXPECT_FALSE(writes.begin(now).allowed);
  EXPECT_FALSE(writes.begin(now + 639 * millisecond).allowed);
  EXPECT_TRUE(writes.begin(now + 641 * millisecond).allowed);
}

// The kernel holds a writer back at every so many pages: most writes are short even then.
TEST(InPlaceWritesTest, ShortOnesBetweenThoseThatWaitDoNotBringTheTrustBack) {
  InPlaceWrites writes;
  std::uint64_t now = start;
  std::uint64_t waited = 0;
  for (int i = 0; i < 100000; ++i) {
    const bool waits = i % 30 == 0;
    const std::uint64_t took = waits ? 5 * millisecond : millisecond / 100;
    if (write_once(writes, now, took, waits)) {
      waited += waits ? took : 0;
    } else {
      now += millisecond / 100;  // handed over
    }
  }
  EXPECT_LE(waited, 2 * 5 * millisecond + (now - start) / 64);
  EXPECT_GT(waited, 0U);
}

TEST(InPlaceWritesTest, TheTrustComesBackWhenNoneHasWaitedFor64TimesAsLong) {
  InPlaceWrites writes;
  std::uint64_t now = start;
  write_once(writes, now, millisecond, true);
  write_once(writes, now, millisecond, true);
  now += 65 * millisecond;
  for (int i = 0; i < 64; ++i) {
    EXPECT_GE(writes.begin(now).waits, 0) << "counted";
    EXPECT_TRUE(write_once(writes, now, millisecond / 100, false));
    now += millisecond;
  }
  EXPECT_TRUE(write_once(writes, now, millisecond / 100, false));
  EXPECT_EQ(writes.begin(now).waits, -1) << "trusted";
}

// A write of another worker that began before and ends now does not bring it back, short or long.
TEST(InPlaceWritesTest, OneThatBeganBeforeDoesNotBringThemBack) {
  InPlaceWrites writes;
  std::uint64_t now = start;
  write_once(writes, now, millisecond, true);
  const InPlaceWrites::Attempt other = writes.begin(now);
  write_once(writes, now, millisecond, true);
  writes.ended(other, now, some_bytes);
  EXPECT_FALSE(writes.begin(now).allowed);
}

}  // namespace
}  // namespace dovetail::device
