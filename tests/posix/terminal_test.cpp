// Terminals are not files: their calls are those of the C library, inside of tasks too.
#include <fcntl.h>
#include <termios.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <thread>

#include "storage/fault_folder.hpp"

namespace dovetail::test {
namespace {

class TerminalTest : public testing::Test {
 protected:
  void SetUp() override {
    master_ = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master_ < 0 || grantpt(master_) != 0 || unlockpt(master_) != 0) {
      GTEST_SKIP() << "no pseudo-terminals here";
    }
    terminal_ = open(ptsname(master_), O_RDWR | O_NOCTTY | O_CLOEXEC);
    ASSERT_GE(terminal_, 0);
    ASSERT_EQ(isatty(terminal_), 1);
    termios settings{};
    ASSERT_EQ(tcgetattr(terminal_, &settings), 0);
    settings.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ASSERT_EQ(tcsetattr(terminal_, TCSANOW, &settings), 0);
  }
  void TearDown() override {
    ::close(terminal_);
    ::close(master_);
  }
  int master_ = -1;
  int terminal_ = -1;
};

// Whether a thread of this process sleeps in the kernel.
bool sleeps(int thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string line;
  std::getline(file, line);
  return line.find(") S ") != std::string::npos;
}

TEST_F(TerminalTest, CallsGiveInATaskWhatTheyGiveOutside) {
  const auto seen = [this] {
    std::vector<std::string> results;
    const auto note = [&results](ssize_t result, const std::string& text) {
      results.push_back(std::to_string(result) + " " + std::to_string(result < 0 ? errno : 0) + " " + text);
    };
    char text[64] = {};
    EXPECT_EQ(bare_write(master_, "line\nrest", 9), 9);
    note(read(terminal_, text, sizeof text), "");  // a line, not all that was typed
    note(0, text);
    EXPECT_EQ(bare_write(master_, "\n", 1), 1);
    note(read(terminal_, text, 2), "");
    note(read(terminal_, text, sizeof text), "");
    note(write(terminal_, "out\n", 4), "");
    std::fill(std::begin(text), std::end(text), '\0');
    note(bare_read(master_, text, sizeof text), text);  // with the carriage return that the terminal adds
    note(::pread(terminal_, text, 4, 0), "");
    note(::pwrite(terminal_, text, 4, 0), "");
    note(::fsync(terminal_), "");
    return results;
  };
  const auto outside = seen();
  EXPECT_EQ(outside[1], "0 0 line\n");
  Runtime runtime(Options{.workers = 1});
  EXPECT_EQ(runtime.spawn(seen).get(), outside);
}

// The task does not pause. A task that reads from a terminal keeps its thread, which may have the terminal's signals and job
// control.
TEST_F(TerminalTest, AReadWaitsInPlace) {
  Runtime runtime(Options{.workers = 1});
  std::atomic<int> reader{0};
  std::atomic<bool> others{false};
  auto line = runtime.spawn([&] {
    spawn([&] { others.store(true); });
    reader.store(gettid());
    char text[64] = {};
    const ssize_t got = read(terminal_, text, sizeof text);
    EXPECT_FALSE(others.load()) << "something else ran on the only worker";
    return std::string(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  });
  std::thread typist([&] {
    while (reader.load() == 0 || (!sleeps(reader.load()) && !others.load())) {
      std::this_thread::yield();
    }
    EXPECT_EQ(bare_write(master_, "typed\n", 6), 6);
  });
  EXPECT_EQ(line.get(), "typed\n");
  typist.join();
}

}  // namespace
}  // namespace dovetail::test
