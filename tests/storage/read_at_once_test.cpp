// How often a read asks the page cache on its own core before it is handed over. This program answers in place of the page cache.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <atomic>
#include <cerrno>

#include "device/device.hpp"
#include "support.hpp"

namespace {
std::atomic<bool> cached{true};
std::atomic<int> asked{0};
}  // namespace

extern "C" [[gnu::visibility("default")]] ssize_t preadv2(int descriptor, const iovec* vectors, int count, off_t offset,
                                                          int flags) {
  if ((flags & RWF_NOWAIT) != 0) {
    ++asked;
    if (!cached) {
      errno = EAGAIN;
      return -1;
    }
  }
  return syscall(SYS_preadv2, descriptor, vectors, count, offset, 0L, flags);
}

namespace dovetail::test {
namespace {

class ReadAtOnceTest : public testing::Test {
 protected:
  void SetUp() override {
    const int descriptor = ::open((folder_ / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(descriptor, 0);
    EXPECT_EQ(::pwrite(descriptor, "12345678", 8, 0), 8);
    struct stat status{};
    EXPECT_EQ(fstat(descriptor, &status), 0);
    const bool in_memory = device::device_of(status.st_dev, descriptor).in_memory;
    ::close(descriptor);
    if (in_memory) {
      GTEST_SKIP() << "the file system of the build tree lies in memory";
    }
  }
  // How many of so many reads, one after the other, ask the page cache.
  int asking(const File& file, int reads) {
    const int before = asked;
    for (int i = 0; i < reads; ++i) {
      std::string bytes(8, '.');
      EXPECT_EQ(file.pread(bytes, 0), 8U);
      EXPECT_EQ(bytes, "12345678");
    }
    return asked - before;
  }

  Folder folder_;
};

TEST_F(ReadAtOnceTest, FilesThatAreNotCachedAreAskedSeldom) {
  Runtime runtime(Options{.workers = 1});
  runtime
      .spawn([&] {
        const File file = File::open(folder_ / "file", O_RDONLY);
        cached = true;
        EXPECT_EQ(asking(file, 100), 100);
        cached = false;
        EXPECT_GE(asking(file, 8), 4) << "a few misses say little";
        const int later = asking(file, 160);
        EXPECT_GE(later, 5) << "it may be cached some day";
        EXPECT_LE(later, 30) << "each costs a system call";
        cached = true;
        for (int i = 0; i < 100 && asking(file, 1) == 0; ++i) {
        }
        EXPECT_EQ(asking(file, 100), 100) << "one hit is enough";
      })
      .get();
}

}  // namespace
}  // namespace dovetail::test
