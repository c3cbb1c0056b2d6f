// A program that closes descriptors which it has not opened is told so, and its workers do not spin.
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "base/sanitizer.hpp"
#include "support.hpp"

namespace dovetail::test {
namespace {

void close_all_descriptors() { syscall(SYS_close_range, 3U, ~0U, 0U); }

void read_from_nobody() {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::array<std::byte, 1> byte{};
  File::from_descriptor(ends[0]).pread(byte, 0);
}

class ClosedDescriptorsTest : public testing::Test {
 protected:
  void SetUp() override {
#if DOVETAIL_ADDRESS_SANITIZER || DOVETAIL_THREAD_SANITIZER
    GTEST_SKIP() << "a sanitizer has descriptors of its own";
#endif
    std::string why_not;
    if (storage::Ring::make(why_not) == nullptr) {
      GTEST_SKIP() << why_not;
    }
  }
};

TEST_F(ClosedDescriptorsTest, ByATaskThatThenTransfers) {
  const auto program = [&] {
    Runtime runtime(Options{.workers = 1, .engine = "uring"});
    runtime.spawn([] { read_from_nobody(); });
    runtime.spawn([] {  // begins when the other one waits in the worker's ring
      close_all_descriptors();
      read_from_nobody();
    });
    runtime.wait();
  };
  EXPECT_EXIT(program(), testing::ExitedWithCode(2), "closed a descriptor that it has not opened: a ring");
}

}  // namespace
}  // namespace dovetail::test
