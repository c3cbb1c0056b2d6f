// What a program is given of what was fetched ahead is what is in the file, and memory comes back.
#include "prefetch/read_ahead.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "base/clock.hpp"
#include "device/device.hpp"
#include "dovetail/dovetail.hpp"
#include "prefetch/inside_counts.hpp"
#include "storage/fault_folder.hpp"
#include "tasking/background.hpp"

namespace dovetail::prefetching {
namespace {

using base::ByteRange;

constexpr std::size_t kibibyte = std::size_t{1} << 10;
constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t step_bytes = 256 * kibibyte;

class ReadAheadTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!device.available()) {
      GTEST_SKIP() << "no file system with faults can be mounted here";
    }
    const std::span<const std::byte> bytes(content);
    const int file = ::open(device.behind("file").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
    ASSERT_EQ(::pwrite(file, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    ::close(file);
    descriptor = ::open((device / "file").c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_GE(descriptor, 0);
    ahead.emplace(descriptor, memory, statistics);
    // A change so recent that the next one might have its time forbids all fetching.
    const std::uint64_t old = base::nanoseconds() + FileVersion::of(descriptor).granularity();
    while (base::nanoseconds() <= old) {
      std::this_thread::yield();
    }
  }
  void TearDown() override {
    if (device.available()) {
      device.rules("");
      ahead.reset();
      tasking::end_background();
      EXPECT_EQ(whole.used(), 0U);
      EXPECT_EQ(part.used(), 0U);
      ::close(descriptor);
    }
  }

  // Reads the next step as a program does; how many bytes of it had been fetched.
  std::size_t read_step() {
    std::size_t served = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const ByteRange range{at, step_bytes / 4};
      // The clock of the pattern is told of a pause, so that nobody has to make one.
      const std::uint64_t begun = base::nanoseconds() + (i == 0 ? 10'000'000 : 0);
      std::vector<std::byte> target(range.length);
      const std::size_t fetched = ahead->serve(range, target.data());
      EXPECT_TRUE(std::equal(target.begin(), target.begin() + static_cast<std::ptrdiff_t>(fetched),
                             content.begin() + static_cast<std::ptrdiff_t>(at)))
          << "at " << at;
      served += fetched;
      at += range.length;
      ahead->follow(range, content.size(), begun);
    }
    return served;
  }
  void read_steps(int number) {
    for (int i = 0; i < number; ++i) {
      read_step();
    }
  }
  void await_fetched(std::uint64_t bytes) const {
    while (statistics.bytes_fetched.load() < bytes) {
      std::this_thread::yield();
    }
  }
  test::FaultFolder device;
  std::vector<std::byte> content = test::random_bytes(8 * mebibyte, test::seed());
  base::MemoryBudget whole{4 * mebibyte};
  base::MemoryBudget part{2 * mebibyte};
  base::LastingBudget memory{whole, part};
  base::Overlap overlap;
  Statistics statistics{overlap};
  int descriptor = -1;
  std::optional<ReadAhead> ahead;
  std::uint64_t at = 0;
};

TEST_F(ReadAheadTest, TheNextStepIsThereWhenTheProgramAsksForIt) {
  read_steps(2);
  await_fetched(step_bytes);
  EXPECT_EQ(read_step(), step_bytes);
  EXPECT_EQ(statistics.bytes_used.load(), step_bytes);
  while (at + step_bytes <= content.size()) {
    read_step();
  }
}

TEST_F(ReadAheadTest, WhatIsFetchedIsShownWithWhatNothingHasRead) {
  WayCounts& counts = counts_of(Way::steps);
  const std::uint64_t asked = counts.asked;
  const std::uint64_t unread = counts.unread;
  const std::uint64_t reads = counts.reads.reads;
  read_steps(2);
  await_fetched(step_bytes);
  EXPECT_EQ(read_step(), step_bytes);
  ahead.reset();
  EXPECT_EQ(counts.asked, asked + statistics.bytes_fetched);
  EXPECT_EQ(counts.unread, unread + statistics.bytes_fetched - step_bytes);
  EXPECT_EQ(counts.reads.reads, reads + 4);
  EXPECT_GE(counts.reads.nanoseconds, statistics.waited);
}

TEST_F(ReadAheadTest, WhatIsFetchedIsCountedForTheDevice) {
  const device::Device& of_file = device::device_of(device / "file");
  const std::uint64_t before = of_file.bytes(device::Direction::read);
  read_steps(2);
  await_fetched(step_bytes);
  ahead.reset();  // what is on its way is counted for the device already
  EXPECT_EQ(of_file.bytes(device::Direction::read) - before, statistics.bytes_fetched.load());
}

TEST_F(ReadAheadTest, WhatAnotherProcessHasChangedSinceIsNotServed) {
  read_steps(2);
  await_fetched(step_bytes);
  const std::vector<std::byte> fresh = test::random_bytes(step_bytes, 99);
  const int other = ::open((device / "file").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::pwrite(other, fresh.data(), fresh.size(), static_cast<off_t>(at)), static_cast<ssize_t>(fresh.size()));
  ::close(other);
  std::copy(fresh.begin(), fresh.end(), content.begin() + static_cast<std::ptrdiff_t>(at));
  EXPECT_EQ(read_step(), 0U);
}

TEST_F(ReadAheadTest, WhatTheProgramWritesIsForgotten) {
  read_steps(2);
  await_fetched(step_bytes);
  ahead->forget({at + step_bytes / 2, 1});
  std::vector<std::byte> target(step_bytes);
  EXPECT_LE(ahead->serve({at, step_bytes}, target.data()), step_bytes / 2);
  EXPECT_EQ(ahead->serve({at + step_bytes / 2, 1}, target.data()), 0U);
}

TEST_F(ReadAheadTest, AReadWaitsForWhatIsBeingFetched) {
  read_step();
  device.rules("read hold");
  read_step();
  device.await(1);
  std::thread reader([&] {
    std::vector<std::byte> target(step_bytes / 4);
    EXPECT_GT(ahead->serve({at, step_bytes / 4}, target.data()), 0U);
    EXPECT_TRUE(std::equal(target.begin(), target.end(), content.begin() + static_cast<std::ptrdiff_t>(at)));
  });
  device.rules("");
  reader.join();
}

TEST_F(ReadAheadTest, WhatNoTaskHasBegunIsLeftToTheProgram) {
  Runtime program(Options{.workers = 1, .io_executors = 1});
  std::atomic<bool> release{false};
  std::atomic<bool> blocked{false};
  auto blocker = program.spawn({.io = true}, [&] {
    blocked.store(true);
    blocked.notify_all();
    release.wait(false);
  });
  blocked.wait(false);
  read_steps(2);
  EXPECT_EQ(read_step(), 0U) << "it would wait for ever";
  release.store(true);
  release.notify_all();
  blocker.get();
  program.wait();
}

TEST_F(ReadAheadTest, WithoutMemoryNothingIsFetched) {
  ASSERT_TRUE(whole.try_take(4 * mebibyte));
  read_steps(4);
  whole.give_back(4 * mebibyte);
  tasking::end_background();
  EXPECT_EQ(statistics.bytes_fetched.load(), 0U);
}

TEST_F(ReadAheadTest, WhatFailsIsLeftToTheProgram) {
  device.rules("read error=EIO");
  read_steps(2);
  EXPECT_EQ(read_step(), 0U);
}

TEST_F(ReadAheadTest, AfterStopNothingIsServedOrFetched) {
  read_steps(2);
  await_fetched(step_bytes);
  ahead->stop();
  EXPECT_TRUE(ahead->stopped());
  EXPECT_EQ(read_step(), 0U);
  read_steps(3);
  EXPECT_EQ(statistics.bytes_used.load(), 0U);
}

}  // namespace
}  // namespace dovetail::prefetching
