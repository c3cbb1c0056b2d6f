// A file whose writes return at once: what its owner reads, what is in the file, and when.
#include <sys/wait.h>

#include <algorithm>
#include <future>
#include <random>

#include "base/last_resort.hpp"
#include "dovetail/dovetail.hpp"
#include "support.hpp"

namespace dovetail::staging {
namespace {

using StagedFileTest = StagingTest;

// Random calls on a staged file, and the same on an array.
class Twins {
 public:
  explicit Twins(std::uint64_t start) : random_(start) {}

  std::vector<std::byte> expected;

  void write(StagedFile& file, std::size_t longest) {
    const std::uint64_t offset = random_() % (expected.size() + 2000);
    const std::size_t length = 1 + random_() % (random_() % 4 == 0 ? longest : 500);
    const std::vector<std::byte> data = test::random_bytes(length, random_());
    expected.resize(std::max<std::size_t>(expected.size(), offset + length));
    std::ranges::copy(data, expected.begin() + static_cast<std::ptrdiff_t>(offset));
    ASSERT_EQ(file.write({offset, length}, data.data(), {.purpose = {"test", nullptr}}).error, 0);
  }
  ByteRange some_range() {
    const std::uint64_t offset = random_() % (expected.size() + 100);
    return {offset, 1 + random_() % 100'000};
  }
  void compare(const std::vector<std::byte>& seen, ByteRange range) const {
    for (std::size_t i = 0; i < range.length; ++i) {
      const std::size_t at = range.offset + i;
      ASSERT_EQ(seen[i], at < expected.size() ? expected[at] : std::byte{0}) << "byte " << at;
    }
  }
  std::uint64_t some_size() { return random_() % (expected.size() + 1000); }
  unsigned choose(unsigned count) { return static_cast<unsigned>(random_() % count); }

 private:
  std::mt19937_64 random_;
};

// Written by the program (the beginning of a file) and in the background, read at once and in the background.
TEST_F(StagedFileTest, AllBytesAreCountedForTheDevice) {
  const std::string path = folder / "file";
  const auto file = open(path);
  const device::Device& counted = device::device_of(path);
  const std::uint64_t read_before = counted.bytes(device::Direction::read);
  const std::uint64_t written_before = counted.bytes(device::Direction::write);
  ASSERT_EQ(write(*file, 0, filled(1000, 1)), 0);
  ASSERT_EQ(write(*file, 1000, filled(mebibyte, 2)), 0);
  ASSERT_EQ(settle(*file), "");
  EXPECT_EQ(counted.bytes(device::Direction::write) - written_before, mebibyte + 1000);
  read(*file, {0, 5000});
  std::vector<std::byte> target(3000);
  const auto transfers = std::make_shared<Transfers>();
  ASSERT_TRUE(file->read_later({5000, target.size()}, target.data(), {"test", nullptr}, transfers));
  ASSERT_EQ(settle(*file), "");
  EXPECT_EQ(counted.bytes(device::Direction::read) - read_before, 8000U);
}

TEST_F(StagedFileTest, RandomCallsAreSeenAndLeaveTheSameFile) {
  for (std::uint64_t run = 0; run < test::scaled(12, 4); ++run) {
    device.rules(run % 3 == 0 ? "write delay=1" : "");
    const std::string path = device / ("file" + std::to_string(run));
    Twins twins(test::seed() + run);
    auto file = open(path);
    for (unsigned step = 0; step < 150; ++step) {
      std::uint64_t waited = 0;
      const unsigned kind = twins.choose(20);
      if (kind < 10) {
        twins.write(*file, kind < 2 ? 3 * mebibyte : 70'000);
      } else if (kind < 16) {
        const ByteRange range = twins.some_range();
        twins.compare(read(*file, range), range);
      } else if (kind == 16) {
        const std::uint64_t size = twins.some_size();
        twins.expected.resize(size);
        ASSERT_EQ(file->set_size(size, waited, twins.choose(2) == 0).error, 0);
      } else if (kind == 17) {
        ASSERT_EQ(settle(*file), "");
      } else if (kind == 18) {
        ASSERT_EQ(close(*file), "");
        ASSERT_EQ(contents(path), twins.expected) << "after a close, in step " << step;
        file = open(path);
      }
      ASSERT_EQ(file->size(), twins.expected.size());
      ASSERT_FALSE(HasFatalFailure()) << "in step " << step << " of run " << run;
    }
    ASSERT_EQ(close(*file), "");
    ASSERT_EQ(contents(path), twins.expected);
  }
}

TEST_F(StagedFileTest, WhatWasCutOffDoesNotComeBackWhenTheFileGrowsAgain) {
  std::vector<std::byte> expected = filled(3000, 4);
  const auto file = open(device / "file");
  ASSERT_EQ(write(*file, 0, expected), 0);
  std::uint64_t waited = 0;
  for (const std::size_t size : {std::size_t{1000}, std::size_t{2000}}) {
    ASSERT_EQ(file->set_size(size, waited, true).error, 0);
    expected.resize(size);
  }
  EXPECT_EQ(read(*file, {0, 2500}), [&] {
    std::vector<std::byte> seen = expected;
    seen.resize(2500);
    return seen;
  }());
  ASSERT_EQ(close(*file), "");
  EXPECT_EQ(contents(device.behind("file")), expected);
}

TEST_F(StagedFileTest, AWriteReturnsAndIsSeenWhileTheDeviceHoldsIt) {
  device.rules("write hold");
  const auto file = open(device / "file");
  const std::vector<std::byte> data = test::random_bytes(3 * mebibyte, 1);
  ASSERT_EQ(write(*file, 0, data), 0);
  ASSERT_EQ(write(*file, mebibyte, filled(10, 7)), 0);
  device.await(1);
  EXPECT_EQ(read(*file, {mebibyte - 1, 12}).at(1), std::byte{7});
  EXPECT_EQ(read(*file, {0, 100}), std::vector(data.begin(), data.begin() + 100));
  EXPECT_EQ(file->size(), 3 * mebibyte);
  device.rules("");
  EXPECT_EQ(settle(*file), "");
  EXPECT_EQ(contents(device.behind("file")).at(mebibyte), std::byte{7});
}

struct Step {
  std::uint64_t offset;
  std::vector<std::byte> data;
};

std::vector<std::byte> apply_prefix(std::vector<std::byte> state, const Step& step, std::size_t bytes) {
  if (bytes != 0) {
    state.resize(std::max<std::size_t>(state.size(), step.offset + bytes));
  }
  std::copy_n(step.data.begin(), bytes, state.begin() + static_cast<std::ptrdiff_t>(step.offset));
  return state;
}

// As much of the step as the file has.
std::vector<std::byte> apply_prefix(const std::vector<std::byte>& state, const Step& step,
                                    const std::vector<std::byte>& file) {
  std::size_t bytes = 0;
  while (bytes < step.data.size() && step.offset + bytes < file.size() &&
         file[step.offset + bytes] == step.data[bytes]) {
    ++bytes;
  }
  return apply_prefix(state, step, bytes);
}

TEST_F(StagedFileTest, AtAnyMomentTheFileIsAsAfterSomeOfTheWritesAndAPartOfTheNext) {
  constexpr int writes = 12;
  for (int held = 1; held <= writes; held += 2) {
    device.rules("");
    const std::string name = "file" + std::to_string(held);
    const auto file = open(device / name);
    device.rules("write nth=" + std::to_string(held) + " hold");
    std::vector<Step> steps;
    std::mt19937_64 random(test::seed() + static_cast<unsigned>(held));
    for (int number = 1; number <= writes; ++number) {
      steps.push_back(
          {random() % (2 * mebibyte), filled(300 * kibibyte + random() % 1000, number)});  // some lie over others
      ASSERT_EQ(write(*file, steps.back().offset, steps.back().data), 0);
    }
    device.await(1);
    const std::vector<std::byte> now = contents(device.behind(name));
    std::vector<std::byte> state;
    bool found = false;
    for (const Step& next : steps) {
      found = found || apply_prefix(state, next, now) == now;
      state = apply_prefix(state, next, next.data.size());
    }
    EXPECT_TRUE(found) << "held at transfer " << held;
    device.rules("");
    ASSERT_EQ(close(*file), "");
    EXPECT_EQ(contents(device.behind(name)), state);
  }
}

TEST_F(StagedFileTest, ASmallWriteReachesTheFileThoughNobodyWaits) {
  const auto file = open(device / "file");
  ASSERT_EQ(write(*file, 0, filled(100, 3)), 0);
  while (contents(device.behind("file")) != filled(100, 3)) {
    std::this_thread::yield();
  }
}

TEST_F(StagedFileTest, SmallWritesThatFollowEachOtherAreOneTransfer) {
  device.rules("write hold");
  const auto file = open(device / "file");
  ASSERT_EQ(write(*file, 0, filled(300 * kibibyte, 1)), 0);
  device.await(1);  // all that comes now is queued
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(write(*file, 300 * kibibyte + 7 * static_cast<unsigned>(i), filled(7, i)), 0);
  }
  const std::uint64_t before = stage->statistics.writes;
  EXPECT_LE(before, 3U);
  device.rules("");
  ASSERT_EQ(settle(*file), "");
  EXPECT_EQ(contents(device.behind("file")).size(), 300 * kibibyte + 7000);
}

TEST_F(StagedFileTest, TransfersOfSeveralFilesThatAreWaitedForHideNothing) {
  device.rules("write hold");
  const auto one = open(device / "one");
  const auto other = open(device / "other");
  const std::uint64_t begin = base::nanoseconds();
  {
    const base::Overlap::Wait waiting(overlap);
    ASSERT_EQ(write(*one, 0, filled(mebibyte, 1)), 0);
    ASSERT_EQ(write(*other, 0, filled(mebibyte, 1)), 0);
    device.await(2);
    device.rules("");
    EXPECT_EQ(settle(*one), "");
    EXPECT_EQ(settle(*other), "");
  }
  const base::Overlap::Times times = overlap.times();
  EXPECT_GT(times.under_way, 0U);
  EXPECT_LE(times.under_way, base::nanoseconds() - begin) << "two transfers at once take the time of one";
  EXPECT_EQ(times.waited, times.under_way);
}

TEST_F(StagedFileTest, AFailureNamesTheWriteAndIsToldUntilTheEnd) {
  device.rules("write offset=1M.. error=EIO");
  const auto file = open(device / "file");
  const auto object = std::make_shared<ObjectName>();
  ASSERT_EQ(write(*file, 0, filled(mebibyte, 1)), 0);
  ASSERT_EQ(write(*file, mebibyte, filled(1000, 2), {.purpose = {"save", object}}), 0);
  object->path = "/energy";  // named later than written
  const std::string failed = settle(*file);
  for (const char* word : {"save /energy", "1000 bytes", "offset 1048576", "/file", "errno 5"}) {
    EXPECT_NE(failed.find(word), std::string::npos) << word << " is missing in: " << failed;
  }
  EXPECT_EQ(settle(*file), failed);
  EXPECT_EQ(file->failure(), failed);
  EXPECT_EQ(stage->failures, 1U);
  EXPECT_EQ(close(*file), failed);
}

TEST_F(StagedFileTest, WhatIsMissingIsNotReadAndWhatComesLaterIsWritten) {
  device.rules("write offset=1M..2M error=ENOSPC");
  const auto file = open(device / "file");
  ASSERT_EQ(write(*file, 0, filled(mebibyte, 1)), 0);
  ASSERT_EQ(write(*file, mebibyte, filled(mebibyte, 2)), 0);
  ASSERT_EQ(write(*file, 2 * mebibyte, filled(1000, 3)), 0);
  EXPECT_NE(settle(*file), "");
  int error = 0;
  read(*file, {mebibyte + 5, 10}, &error);
  EXPECT_EQ(error, ENOSPC) << "neither zeros nor old bytes";
  EXPECT_EQ(read(*file, {0, 1000}), filled(1000, 1));
  EXPECT_EQ(read(*file, {2 * mebibyte, 1000}), filled(1000, 3));
  device.rules("");
  ASSERT_EQ(write(*file, mebibyte, filled(mebibyte, 4)), 0);
  EXPECT_NE(settle(*file), "") << "the failure is not forgotten";
  EXPECT_EQ(read(*file, {mebibyte, 1000}), filled(1000, 4)) << "written again, it is there";
}

TEST_F(StagedFileTest, AfterAFailureTheFileIsAsLongAsItShouldBeAndNotCut) {
  const auto file = open(device / "file");
  ASSERT_EQ(write(*file, 0, filled(5000, 1)), 0);
  ASSERT_EQ(settle(*file), "");
  device.rules("write error=EIO");
  ASSERT_EQ(write(*file, 5000, filled(300 * kibibyte, 2)), 0);
  EXPECT_NE(settle(*file), "");
  EXPECT_EQ(contents(device.behind("file")).size(), 5000 + 300 * kibibyte);
  std::uint64_t waited = 0;
  EXPECT_EQ(file->set_size(100, waited, false).error, 0);
  EXPECT_NE(close(*file), "");
  EXPECT_EQ(contents(device.behind("file")).size(), 5000 + 300 * kibibyte) << "the old state may need its end";
}

TEST_F(StagedFileTest, TransfersAreToldOnceWhenTheLastHasEnded) {
  device.rules("write hold");
  const auto file = open(device / "file");
  const auto transfers = std::make_shared<Transfers>();
  const auto told = std::make_shared<std::atomic<int>>(0);  // by a task, perhaps after the file has settled
  transfers->when_done.emplace_back([told] { told->fetch_add(1); });
  const WriteRequest how{.purpose = {"test", nullptr}, .transfers = transfers};
  ASSERT_EQ(write(*file, 0, filled(5 * mebibyte, 1), how), 0);
  device.await(1);
  EXPECT_EQ(told->load(), 0);
  {
    const Lock lock(stage->mutex);
    EXPECT_GT(transfers->outstanding, 1U);
  }
  device.rules("");
  ASSERT_EQ(settle(*file), "");
  tasking::end_background();
  EXPECT_EQ(told->load(), 1);
  EXPECT_EQ(transfers->outstanding, 0U);
  EXPECT_EQ(transfers->error, "");
}

TEST_F(StagedFileTest, TransfersSayWhatFailedOfThem) {
  device.rules("write offset=1M.. error=EIO");
  const auto file = open(device / "file");
  const auto good = std::make_shared<Transfers>();
  const auto bad = std::make_shared<Transfers>();
  ASSERT_EQ(write(*file, 0, filled(1000, 1), {.purpose = {"good", nullptr}, .transfers = good}), 0);
  ASSERT_EQ(write(*file, mebibyte, filled(1000, 1), {.purpose = {"bad", nullptr}, .transfers = bad}), 0);
  EXPECT_NE(settle(*file), "");
  EXPECT_EQ(good->error, "");
  EXPECT_NE(bad->error.find("bad"), std::string::npos) << bad->error;
}

TEST_F(StagedFileTest, MemoryThatIsKeptIsNotCopied) {
  device.rules("write hold");
  const auto file = open(device / "file");
  const std::vector<std::byte> mine = filled(2 * mebibyte, 1);
  ASSERT_EQ(write(*file, 0, filled(mebibyte, 0)), 0);
  device.await(1);
  const std::uint64_t copies = budget.used();
  ASSERT_EQ(write(*file, mebibyte, mine, {.purpose = {"test", nullptr}, .kept = true}), 0);
  EXPECT_EQ(budget.used(), copies);
  EXPECT_EQ(stage->statistics.bytes_kept, 2 * mebibyte);
  EXPECT_FALSE(file->memory_reusable());
  device.rules("");
  ASSERT_EQ(settle(*file), "");
  EXPECT_TRUE(file->memory_reusable());
  EXPECT_EQ(contents(device.behind("file")).at(mebibyte + 5), std::byte{1});
}

TEST_F(StagedFileTest, AReadIntoMemoryOfTheCallerGoesOnAfterTheCall) {
  {
    const auto file = open(device / "file");
    ASSERT_EQ(write(*file, 0, filled(1000, 5)), 0);
  }
  device.rules("read hold");
  const auto file = open(device / "file");
  const auto transfers = std::make_shared<Transfers>();
  std::vector<std::byte> target(1000);
  ASSERT_TRUE(file->read_later({0, 1000}, target.data(), {"test", nullptr}, transfers));
  device.await(1);
  std::thread writer([&] { EXPECT_EQ(write(*file, 10, filled(10, 6)), 0); });  // waits for the read
  device.rules("");
  writer.join();
  ASSERT_EQ(settle(*file), "");
  EXPECT_EQ(transfers->outstanding, 0U);
  EXPECT_EQ(target, filled(1000, 5));
}

TEST_F(StagedFileTest, TwoFilesOnOneInodeSeeEachOther) {
  const auto first = open(device / "file");
  const auto second = open(device / "file");
  EXPECT_TRUE(first->shared());
  EXPECT_TRUE(second->shared());
  EXPECT_FALSE(open(device / "other")->shared());
  ASSERT_EQ(write(*first, 0, filled(1000, 1)), 0);
  EXPECT_EQ(read(*second, {0, 1000}), filled(1000, 1));
  ASSERT_EQ(write(*second, 500, filled(10, 2)), 0);
  EXPECT_EQ(read(*first, {500, 10}), filled(10, 2));
}

TEST_F(StagedFileTest, AFileThatIsReadOnlyRefusesWrites) {
  ::close(::open((device / "file").c_str(), O_CREAT | O_RDWR, 0644));
  const auto file = open(device / "file", O_RDONLY);
  EXPECT_EQ(write(*file, 0, filled(10, 1)), EBADF);
  EXPECT_EQ(file->size(), 0U);
}

TEST_F(StagedFileTest, DurableIsTheFileThatWasSyncedAfterItsLastChange) {
  const auto file = open(device / "file");
  ASSERT_EQ(write(*file, 0, filled(1000, 1)), 0);
  EXPECT_FALSE(file->durable());
  std::uint64_t waited = 0;
  EXPECT_EQ(file->make_durable(waited), "");
  EXPECT_TRUE(file->durable());
  ASSERT_EQ(write(*file, 0, filled(1000, 2)), 0);
  EXPECT_FALSE(file->durable());
  device.rules("fsync error=EIO");
  EXPECT_NE(file->make_durable(waited).find("errno 5"), std::string::npos);
  EXPECT_FALSE(file->durable());
}

TEST_F(StagedFileTest, AChildOfAForkReadsWhatTheParentHasYetToWrite) {
  device.rules("write path=parent hold");
  const auto file = open(device / "parent");
  ASSERT_EQ(write(*file, 0, filled(mebibyte, 1)), 0);
  device.await(1);
  // As `Stage::of_process` does it, save that nothing is drained: some other thread may write on.
  const pid_t pid = fork();
  if (pid == 0) {
    ::alarm(test::last_resort_seconds);
    _exit(read(*file, {0, mebibyte}) == filled(mebibyte, 1) ? 42 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
  device.rules("");
}

}  // namespace
}  // namespace dovetail::staging
