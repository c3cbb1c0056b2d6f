// No space left, in memory or on the file system: which call is told, and that nothing waits for ever.
#include "staging/reserved_space.hpp"

#include <dirent.h>
#include <sys/resource.h>

#include <csignal>

#include "device/device.hpp"
#include "dovetail/dovetail.hpp"
#include "support.hpp"

namespace dovetail::staging {
namespace {

class SpaceTest : public StagingTest {
 protected:
  // Descriptors of this process on files in a folder that have no name there; the blocks of the last one.
  static int unnamed_files(const std::string& where, std::size_t* bytes = nullptr) {
    int found = 0;
    for (int descriptor = 3; descriptor < 200; ++descriptor) {
      char target[4096] = {};
      const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
      struct stat status{};
      if (readlink(link.c_str(), target, sizeof target - 1) > 0 && std::string(target).starts_with(where) &&
          fstat(descriptor, &status) == 0 && status.st_nlink == 0 && S_ISREG(status.st_mode)) {
        ++found;
        if (bytes != nullptr) {
          *bytes = static_cast<std::size_t>(status.st_blocks) * 512;
        }
      }
    }
    return found;
  }
  struct Opened {
    std::string path;
    int descriptor;
    struct stat status{};
  };
  Opened plain_file(const std::string& path) const {
    Opened opened{path, ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644), {}};
    EXPECT_EQ(fstat(opened.descriptor, &opened.status), 0);
    return opened;
  }
};

TEST_F(SpaceTest, AsMuchIsAllocatedAsIsTakenAndPromised) {
  const Opened file = plain_file(folder / "file");
  if (!device::device_of(file.status.st_dev, file.descriptor).reserves_space) {
    GTEST_SKIP() << "the file system of the build keeps no space";
  }
  Lock lock(stage->mutex);
  const auto space = ReservedSpace::of(*stage, file.status.st_dev, file.descriptor, file.path);
  EXPECT_EQ(unnamed_files(folder / ""), 0) << "before anything is taken";
  EXPECT_FALSE(space->take_at_once(mebibyte));
  ASSERT_TRUE(space->take(3 * mebibyte));
  std::size_t bytes = 0;
  EXPECT_EQ(unnamed_files(folder / "", &bytes), 1);
  EXPECT_GE(bytes, 3 * mebibyte);
  ASSERT_TRUE(space->promise(9 * mebibyte));
  EXPECT_EQ(unnamed_files(folder / "", &bytes), 1);
  EXPECT_GE(bytes, 12 * mebibyte);
  EXPECT_FALSE(space->unused());
  space->give_back(3 * mebibyte);
  EXPECT_TRUE(space->unused());
  space->yield();
  EXPECT_FALSE(space->take_at_once(4096)) << "it is lent";
  EXPECT_EQ(unnamed_files(folder / "", &bytes), 1);
  EXPECT_GE(bytes, 9 * mebibyte) << "what is promised stays";
  EXPECT_LT(bytes, 12 * mebibyte);
  space->written();
  space->release(9 * mebibyte);
  space->rest();
  EXPECT_FALSE(space->is_held());
  EXPECT_EQ(unnamed_files(folder / "", &bytes), 1);
  EXPECT_EQ(bytes, 0U);
  space->leave();
  EXPECT_EQ(unnamed_files(folder / ""), 0) << "with the last file";
  lock.unlock();
  ::close(file.descriptor);
}

TEST_F(SpaceTest, TheBeginningOfAFileNeedsNeitherSpaceNorATask) {
  if (!device::device_of(folder / "").caches_writes) {
    GTEST_SKIP() << "the file system of the build may make a write wait for others";
  }
  const auto file = open(folder / "small");
  const std::vector<std::byte> data = filled(16 * kibibyte, 7);
  for (std::size_t i = 0; i < 4; ++i) {
    ASSERT_EQ(write(*file, i * data.size(), data), 0);
    ASSERT_EQ(contents(folder / "small").size(), (i + 1) * data.size()) << "the call has written it";
  }
  EXPECT_EQ(unnamed_files(folder / ""), 0);
  EXPECT_EQ(stage->statistics.foreground.at("the beginning of a file"), 4U);
  ASSERT_EQ(write(*file, 4 * data.size(), data), 0);
  EXPECT_EQ(unnamed_files(folder / ""), 1) << "it is not small any more";
  EXPECT_EQ(close(*file), "");
  EXPECT_EQ(contents(folder / "small"), filled(5 * data.size(), 7));
}

TEST_F(SpaceTest, FilesOfADeviceShareItAndTheLastOneClosesIt) {
  const Opened one = plain_file(device / "one");
  const Opened other = plain_file(device / "other");
  const Opened elsewhere = plain_file(folder / "elsewhere");
  const Lock lock(stage->mutex);
  const auto space = ReservedSpace::of(*stage, one.status.st_dev, one.descriptor, one.path);
  EXPECT_EQ(ReservedSpace::of(*stage, other.status.st_dev, other.descriptor, other.path), space);
  const auto second = ReservedSpace::of(*stage, elsewhere.status.st_dev, elsewhere.descriptor, elsewhere.path);
  EXPECT_NE(second, space);
  second->leave();
  space->leave();
  space->leave();
  const auto another = ReservedSpace::of(*stage, one.status.st_dev, one.descriptor, one.path);
  EXPECT_NE(another, space) << "it is gone";
  another->leave();
  EXPECT_TRUE(stage->participants.empty());
  for (const Opened& file : {one, other, elsewhere}) {
    ::close(file.descriptor);
  }
}

TEST_F(SpaceTest, BlocksAreThoseThatAPieceTouches) {
  EXPECT_EQ(ReservedSpace::blocks_of(0, 1), 4096U);
  EXPECT_EQ(ReservedSpace::blocks_of(4095, 2), 8192U);
  EXPECT_EQ(ReservedSpace::blocks_of(4096, 4096), 4096U);
  EXPECT_EQ(ReservedSpace::blocks_of(1, 8192), 3 * 4096U);
}

TEST_F(SpaceTest, NoSpaceIsTheAnswerOfTheWriteThatFindsNone) {
  const auto file = open(device / "file");
  ASSERT_EQ(write(*file, 0, filled(mebibyte, 1)), 0);
  // In one piece, which is more than has been reserved by now.
  const WriteRequest whole{.purpose = {"test", nullptr}, .kept = true};
  device.rules("fallocate error=ENOSPC\nwrite offset=10M.. error=ENOSPC");
  EXPECT_EQ(write(*file, 8 * mebibyte, filled(5 * mebibyte, 2), whole), ENOSPC);
  EXPECT_EQ(file->size(), mebibyte) << "what is not written is not there";
  EXPECT_EQ(settle(*file), "") << "what was acknowledged is";
  EXPECT_EQ(stage->statistics.foreground.at("no room on the file system"), 1U);
  device.rules("fallocate error=ENOSPC");
  EXPECT_EQ(write(*file, 8 * mebibyte, filled(5 * mebibyte, 2), whole), 0) << "the write itself decides";
}

TEST_F(SpaceTest, AnAcknowledgedWriteGetsWhatWasReservedForIt) {
  const auto file = open(device / "file");
  device.rules("write error=ENOSPC times=1");
  ASSERT_EQ(write(*file, 0, filled(mebibyte, 1)), 0);
  EXPECT_EQ(settle(*file), "") << "it is written once more when the reserved space is free";
  EXPECT_EQ(contents(device.behind("file")), filled(mebibyte, 1));
}

TEST_F(SpaceTest, WithoutFallocateAWriteWaitsAndSaysItself) {
  device.rules("fallocate error=EOPNOTSUPP\nwrite offset=1M.. error=EIO");
  const auto file = open(device / "file");
  EXPECT_EQ(write(*file, 0, filled(1000, 1)), 0);
  EXPECT_EQ(contents(device.behind("file")), filled(1000, 1)) << "at once";
  EXPECT_EQ(write(*file, mebibyte, filled(1000, 1)), EIO);
  EXPECT_EQ(settle(*file), "");
}

TEST_F(SpaceTest, TheLimitOfFileSizesIsToldByTheWrite) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const auto file = open(device / "file");
  const rlimit limit{mebibyte, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_EQ(write(*file, 0, filled(500 * kibibyte, 1)), 0);
  EXPECT_EQ(write(*file, 900 * kibibyte, filled(500 * kibibyte, 1)), EFBIG);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(settle(*file), "");
}

TEST_F(SpaceTest, AWriteLargerThanTheBudgetGoesThroughIt) {
  const auto file = open(device / "file");
  const std::vector<std::byte> data = test::random_bytes(40 * mebibyte, 3);
  ASSERT_EQ(write(*file, 0, data), 0);
  EXPECT_LE(budget.used(), budget.limit());
  ASSERT_EQ(settle(*file), "");
  EXPECT_EQ(contents(device.behind("file")), data);
}

TEST_F(SpaceTest, AFullBudgetWaitsForTheDeviceAndForNothingElse) {
  const auto file = open(device / "file");
  // Until the writer was there before the device went on.
  while (stage->statistics.waited_for_space == 0) {
    device.rules("write hold");
    ASSERT_EQ(write(*file, 0, filled(16 * mebibyte, 1)), 0);  // as much as there is
    device.await(1);
    EXPECT_EQ(budget.used(), budget.limit());
    std::atomic<bool> begun{false};
    std::atomic<bool> returned{false};
    std::thread writer([&] {
      begun.store(true);
      EXPECT_EQ(write(*file, 16 * mebibyte, filled(mebibyte, 2)), 0);
      returned.store(true);
    });
    while (!begun.load()) {
      std::this_thread::yield();
    }
    for (int i = 0; i < 1000; ++i) {
      std::this_thread::yield();
    }
    EXPECT_FALSE(returned.load());
    device.rules("");
    writer.join();
    ASSERT_EQ(settle(*file), "");
  }
}

TEST_F(SpaceTest, FilesThatNobodyWritesMakeRoomForOthers) {
  // Each has less than is worth a task; together they have all the memory.
  std::vector<std::unique_ptr<StagedFile>> files;
  for (int i = 0; i < 130; ++i) {
    files.push_back(open(device / ("file" + std::to_string(i))));
    ASSERT_EQ(write(*files.back(), 0, filled(128 * kibibyte, i)), 0);
  }
  for (int i = 0; i < 130; ++i) {
    ASSERT_EQ(close(*files[static_cast<unsigned>(i)]), "");
    ASSERT_EQ(contents(device.behind("file" + std::to_string(i))), filled(128 * kibibyte, i));
  }
}

TEST_F(SpaceTest, MemoryIsGivenBackWhenNothingIsWritten) {
  const auto file = open(device / "file");
  ASSERT_EQ(write(*file, 0, filled(10 * mebibyte, 1)), 0);
  ASSERT_EQ(settle(*file), "");
  for (std::size_t kept = 1; kept != 0; std::this_thread::yield()) {
    const Lock lock(stage->mutex);
    kept = stage->pool.kept();
  }
  EXPECT_EQ(budget.used(), 0U);
}

}  // namespace
}  // namespace dovetail::staging
