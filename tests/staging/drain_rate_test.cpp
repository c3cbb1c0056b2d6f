// What a drain leaves to the other users of the device: it has little there at once, and keeps to its limit.
#include <gtest/gtest.h>

#include <thread>

#include "base/clock.hpp"
#include "staging/drain_pace.hpp"
#include "staging/tier_support.hpp"

namespace dovetail::staging {
namespace {

using Kind = WatchedCalls::Kind;
using Asked = WatchedCalls::Asked;
using Fault = WatchedCalls::Fault;

constexpr std::uint64_t second = 1'000'000'000;

TEST(DrainPaceTest, NextOneBeginsWhenTheLastWouldHaveEnded) {
  DrainPace pace;
  EXPECT_EQ(pace.turn(100, 500, 1000), 100U);
  EXPECT_EQ(pace.turn(200, 250, 1000), 100 + second / 2);
  EXPECT_EQ(pace.turn(200, 1, 1000), 100 + second / 2 + second / 4);
  EXPECT_EQ(pace.turn(9 * second, 1, 1000), 9 * second) << "what was not used before is no credit";
}

TEST(DrainPaceTest, DrainsShareIt) {
  DrainPace pace;
  constexpr std::uint64_t turns = 10'000;
  const auto take = [&] {
    for (std::uint64_t turn = 0; turn < turns; ++turn) {
      pace.turn(0, 1, second);
    }
  };
  std::thread other(take);
  take();
  other.join();
  EXPECT_EQ(pace.turn(0, 1, second), 2 * turns);
}

// Its time goes on only where the drain waits.
class PacedCalls : public WatchedCalls {
 public:
  std::uint64_t time = base::nanoseconds() + 3600 * second;

  std::uint64_t now() noexcept override { return time; }
  void wait_until(std::uint64_t until) noexcept override { time = std::max(time, until); }
};

TEST_F(TierTest, DrainKeepsToItsLimit) {
  PacedCalls paced;
  settings.calls = &paced;
  settings.drain = {.stripe_bytes = 4096, .request_bytes = 1 << 20, .bytes_per_second = 1'000'000};
  const auto file = open();
  const Bytes data = test::random_bytes(900'000, 5);
  ASSERT_EQ(file->write(0, data).text(), "");
  const std::uint64_t begun = paced.time;
  std::uint64_t written = 0;
  std::size_t largest = 0;
  paced.before = [&](const Asked& asked) {
    if (asked.kind == Kind::write && asked.path() == final_path) {
      EXPECT_GE((paced.time - begun) / 1000, written) << "a byte takes a microsecond";
      written += asked.bytes;
      largest = std::max(largest, asked.bytes);
    }
    return Fault{};
  };
  ASSERT_EQ(file->drain().text(), "");
  EXPECT_EQ(written, data.size());
  EXPECT_LE(largest, 100'000U) << "in steps of a tenth of a second";
  EXPECT_TRUE(same(bytes_of(final_path), data));
}

TEST_F(TierTest, DeviceHasTwoRequestsAtMost) {
  const auto file = open();
  const Bytes data = test::random_bytes(300'000, 5);
  ASSERT_EQ(file->write(0, data).text(), "");
  std::vector<std::uint64_t> under_way;
  std::size_t most = 0;
  calls.at_writeback = [&](ByteRange range) {
    under_way.push_back(range.offset);
    most = std::max(most, under_way.size());
  };
  calls.before = [&](const Asked& asked) {
    if (asked.kind == Kind::writeback) {
      EXPECT_EQ(asked.offset, under_way.front());
      under_way.erase(under_way.begin());
    }
    return Fault{};
  };
  ASSERT_EQ(file->drain().text(), "");
  EXPECT_EQ(most, 2U);
  EXPECT_EQ(under_way.size(), 1U) << "the sync waits for the last one";
}

// The system tells of bytes that the device could not take once, to the one that waits for them.
TEST_F(TierTest, FailureOfTheDeviceIsThatOfTheDrain) {
  const auto file = open();
  const Bytes data = test::random_bytes(100'000, 5);
  ASSERT_EQ(file->write(0, data).text(), "");
  bool fails = true;
  calls.before = [&](const Asked& asked) {
    return Fault{.error = asked.kind == Kind::writeback && asked.offset != 0 && std::exchange(fails, false) ? EIO : 0};
  };
  const FileFailure failure = file->drain();
  EXPECT_EQ(failure.error, EIO);
  EXPECT_EQ(failure.path, final_path);
  EXPECT_EQ(failure.offset, settings.drain.request_bytes);
  std::filesystem::resize_file(final_path, 0);  // what the device has lost
  ASSERT_EQ(file->drain().text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), data));
}

}  // namespace
}  // namespace dovetail::staging
