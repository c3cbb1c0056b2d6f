// Opening a file that the kernel finds without waiting needs no other thread; everything else is as before.
#include <sys/stat.h>

#include <atomic>

#include "device/facts.hpp"
#include "storage/storage_service.hpp"
#include "support.hpp"

namespace dovetail::test {
namespace {

class OpenAtOnceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = folder_ / "a";
    const File file = File::open(path_, O_RDWR | O_CREAT);
    file.pwrite(std::span(bytes_), 0);
  }

  template <class Body>
  std::uint64_t handed_over(Body body) {
    storage::StorageService& service = *storage::StorageService::of(runtime_.core());
    const std::uint64_t before = service.handed_over();
    runtime_.spawn(body).get();
    return service.handed_over() - before;
  }

  int error_of(const std::string& path, int flags) {
    return runtime_
        .spawn([&] {
          try {
            File::open(path, flags);
          } catch (const IoError& error) {
            EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
            return error.code().value();
          }
          return 0;
        })
        .get();
  }

  Folder folder_;
  std::string path_;
  std::vector<std::byte> bytes_ = random_bytes(5000, seed());
  Runtime runtime_{Options{.workers = 1}};
};

bool on_a_local_file_system(const std::string& path) {
  const std::string type = device::facts_of(path).file_system;
  return type == "ext4" || type == "xfs" || type == "btrfs" || type == "f2fs" || type == "tmpfs";
}

TEST_F(OpenAtOnceTest, AFileThatIsThereNeedsNoRequest) {
  if (!on_a_local_file_system(path_)) {
    GTEST_SKIP() << "the build folder is on a file system that may have to ask somebody";
  }
  EXPECT_EQ(handed_over([&] {
              for (const int flags : {O_RDONLY, O_RDWR, O_WRONLY | O_APPEND}) {
                const File file = File::open(path_, flags);
                EXPECT_EQ(fcntl(file.descriptor(), F_GETFL) & (O_ACCMODE | O_APPEND), flags);
                EXPECT_EQ(fcntl(file.descriptor(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
              }
            }),
            0U);
}

TEST_F(OpenAtOnceTest, ItIsTheFileOfThatPath) {
  runtime_
      .spawn([&] {
        const File file = File::open(path_, O_RDONLY);
        std::vector<std::byte> found(bytes_.size());
        ASSERT_EQ(file.pread(std::span(found), 0), bytes_.size());
        EXPECT_EQ(found, bytes_);
        struct stat expected{};
        struct stat opened{};
        ASSERT_EQ(stat(path_.c_str(), &expected), 0);
        ASSERT_EQ(fstat(file.descriptor(), &opened), 0);
        EXPECT_EQ(opened.st_ino, expected.st_ino);
        EXPECT_EQ(opened.st_dev, expected.st_dev);
      })
      .get();
}

TEST_F(OpenAtOnceTest, ErrorsAreThoseOfOpen) {
  ASSERT_EQ(symlink(path_.c_str(), (folder_ / "link").c_str()), 0);
  EXPECT_EQ(error_of(folder_ / "link", O_RDONLY), 0);
  EXPECT_EQ(error_of(folder_ / "link", O_RDONLY | O_NOFOLLOW), ELOOP);
  EXPECT_EQ(error_of(folder_ / "nothing", O_RDONLY), ENOENT);
  EXPECT_EQ(error_of(folder_ / "nothing", O_RDONLY), ENOENT) << "also when the kernel remembers that it is not there";
  EXPECT_EQ(error_of(path_, O_RDONLY | O_DIRECTORY), ENOTDIR);
  EXPECT_EQ(error_of(folder_ / "", O_WRONLY), EISDIR);
  EXPECT_EQ(error_of(path_, O_RDWR | O_CREAT | O_EXCL), EEXIST);
}

TEST_F(OpenAtOnceTest, WhatChangesTheFileIsDone) {
  runtime_.spawn([&] { File::open(path_, O_RDWR | O_TRUNC); }).get();
  struct stat status{};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 0);
  runtime_.spawn([&] { File::open(folder_ / "new", O_WRONLY | O_CREAT, {.mode = 0400}); }).get();
  ASSERT_EQ(stat((folder_ / "new").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0400U);
}

// The only worker must stay free for the task that opens the other end.
TEST_F(OpenAtOnceTest, AFifoWaitsForItsOtherEndWithoutTheWorker) {
  const std::string fifo = folder_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  char letter = 0;
  Future<void> reader = runtime_.spawn([&] {
    const File file = File::open(fifo, O_RDONLY);
    file.pread(std::span(&letter, 1), 0);
  });
  runtime_
      .spawn([&] {
        const File file = File::open(fifo, O_WRONLY);
        file.pwrite(std::span("x", 1), 0);
      })
      .get();
  reader.get();
  EXPECT_EQ(letter, 'x');
}

// The last descriptor that is left is enough, although the look at the path takes one for a moment.
TEST_F(OpenAtOnceTest, OneDescriptorIsEnough) {
  std::vector<int> taken;
  runtime_.spawn([&] { File::open(path_, O_RDONLY); }).get();  // what the runtime itself opens, it has now
  for (int descriptor = dup(0); descriptor >= 0; descriptor = dup(0)) {
    taken.push_back(descriptor);
    if (taken.size() > 100'000) {
      GTEST_SKIP() << "descriptors are not limited here";
    }
  }
  ASSERT_FALSE(taken.empty());
  EXPECT_EQ(error_of(path_, O_RDONLY), EMFILE);
  close(taken.back());
  taken.pop_back();
  EXPECT_EQ(error_of(path_, O_RDONLY), 0);
  for (const int descriptor : taken) {
    close(descriptor);
  }
}

}  // namespace
}  // namespace dovetail::test
