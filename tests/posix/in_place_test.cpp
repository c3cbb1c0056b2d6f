// Small writes into the page cache are made by the calling core; those that wait for the device are not.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>

#include "device/device.hpp"
#include "storage/support.hpp"

namespace dovetail::test {
namespace {

class PosixInPlaceTest : public testing::Test {
 protected:
  void SetUp() override {
    const int file = open((folder_ / "file").c_str(), O_RDWR | O_CREAT, 0644);
    ASSERT_GE(file, 0);
    struct stat status{};
    ASSERT_EQ(fstat(file, &status), 0);
    const bool copies = device::device_of(status.st_dev, file).caches_writes;
    close(file);
    if (!copies) {
      GTEST_SKIP() << "the file system of the build tree is not known to copy writes";
    }
  }

  // Whether a task that has just been spawned runs on the only worker before the writes of the task that spawned it have returned.
  bool another_runs_meanwhile(int flags, bool at_position) {
    std::atomic<bool> ran{false};
    bool meanwhile = false;
    runtime_
        .spawn([&] {
          const int file = open((folder_ / "file").c_str(), O_RDWR | flags);
          ASSERT_GE(file, 0);
          runtime_.spawn([&] { ran.store(true); });
          const std::string text(4096, 'x');
          for (off_t i = 0; i < 8; ++i) {
            ASSERT_EQ(at_position ? write(file, text.data(), text.size())
                                  : ::pwrite(file, text.data(), text.size(), i * 4096),
                      4096);
          }
          meanwhile = ran.load();
          EXPECT_EQ(close(file), 0);
        })
        .get();
    runtime_.wait();
    return meanwhile;
  }

  Folder folder_;
  Runtime runtime_{Options{.workers = 1}};
};

// The device may be busy with something else, and a call on another thread may return before the task has left the core. So each is
// repeated until it is seen. A call that never pauses, or always, is found by the limit of time.
TEST_F(PosixInPlaceTest, SmallWrites) {
  while (another_runs_meanwhile(0, false)) {
  }
  while (another_runs_meanwhile(0, true)) {
  }
}

TEST_F(PosixInPlaceTest, NotThoseOfADescriptorThatWaitsForTheDevice) {
  while (!another_runs_meanwhile(O_DSYNC, false)) {
  }
  while (!another_runs_meanwhile(O_DSYNC, true)) {
  }
}

}  // namespace
}  // namespace dovetail::test
