// The log of opens, as python/dovetail/open_log.py finds it in memory.
#include "prefetch/open_log.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace dovetail::prefetching {
namespace {

class OpenLogTest : public ::testing::Test {
 protected:
  template <class Type>
  Type at(std::size_t offset) const {
    Type value;
    std::memcpy(&value, reinterpret_cast<const std::byte*>(log_.get()) + offset, sizeof value);
    return value;
  }
  std::uint64_t opens() const { return at<std::uint64_t>(0); }
  static std::size_t slot(std::uint64_t number) { return 4096 + number % OpenLog::slots * 256; }
  std::string path(std::uint64_t number) const { return reinterpret_cast<const char*>(log_.get()) + slot(number) + 16; }

  std::unique_ptr<OpenLog> log_ = std::make_unique<OpenLog>();
};

TEST_F(OpenLogTest, TheLatestOpensStandInTheirSlots) {
  constexpr std::uint64_t count = OpenLog::slots + 100;
  for (std::uint64_t number = 0; number < count; ++number) {
    log_->note(("name " + std::to_string(number)).c_str(), static_cast<std::int32_t>(number), -7);
  }
  EXPECT_EQ(opens(), count);
  for (std::uint64_t number = count - OpenLog::slots; number < count; ++number) {
    EXPECT_EQ(at<std::uint64_t>(slot(number)), number + 1);
    EXPECT_EQ(at<std::int32_t>(slot(number) + 8), static_cast<std::int32_t>(number));
    EXPECT_EQ(at<std::int32_t>(slot(number) + 12), -7);
    EXPECT_EQ(path(number), "name " + std::to_string(number));
  }
}

TEST_F(OpenLogTest, APathThatThereIsNoRoomForIsLeftOut) {
  log_->note(std::string(OpenLog::longest_path + 1, 'x').c_str(), 0, 0);
  EXPECT_EQ(opens(), 0U);
  log_->note(std::string(OpenLog::longest_path, 'x').c_str(), 0, 0);
  EXPECT_EQ(opens(), 1U);
  EXPECT_EQ(path(0), std::string(OpenLog::longest_path, 'x'));
}

TEST_F(OpenLogTest, ThreadsLoseNone) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (std::uint32_t i = 0; i < OpenLog::slots / 4; ++i) {
        log_->note("name", 0, 0);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (std::uint64_t number = 0; number < OpenLog::slots; ++number) {
    EXPECT_EQ(at<std::uint64_t>(slot(number)), number + 1);
  }
}

}  // namespace
}  // namespace dovetail::prefetching
