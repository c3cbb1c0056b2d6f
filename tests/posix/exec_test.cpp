// A program that is preloaded with this library takes the place of a process, or is started by it, while calls are in flight.
#include <dlfcn.h>

#include <atomic>

#include "base/last_resort.hpp"
#include "storage/fault_folder.hpp"

namespace dovetail::test {
namespace {

std::string preloaded_library() {
  Dl_info info{};
  return dladdr(dlsym(RTLD_DEFAULT, "dovetail_posix_attach"), &info) != 0 ? info.dli_fname : "";
}

class ExecTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!faults_.available()) {
      GTEST_SKIP() << "no FUSE here";
    }
    if (std::getenv("DOVETAIL_SANITIZE") != nullptr) {
      GTEST_SKIP() << "what is preloaded into a program that is not instrumented must not be either";
    }
    ASSERT_NE(preloaded_library(), "");
    const int file = open(faults_.behind("file").c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ASSERT_EQ(bare_write(file, text_.data(), text_.size()), static_cast<ssize_t>(text_.size()));
    ::close(file);
  }

  // Becomes a shell with the library preloaded, which says so and copies a file (through a pipe, or the kernel would copy it). Only what is allowed after a fork.
  [[noreturn]] void become_a_preloaded_shell() const {
    const std::string preload = "LD_PRELOAD=" + preloaded_library();
    const std::string script = "grep -q libdovetail-posix /proc/self/maps && cat '" + faults_.behind("file") +
                               "' | cat >'" + copy_ + "' && exit 43";
    const char* words[] = {"sh", "-c", script.c_str(), nullptr};
    const char* environment[] = {preload.c_str(), "PATH=/usr/bin:/bin", nullptr};
    execve("/bin/sh", const_cast<char**>(words), const_cast<char**>(environment));
    _exit(4);
  }
  static int status_of(pid_t child) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  // Reads that pause, in both ways of the interposer.
  void spawn_readers(Runtime& runtime, int file, std::atomic<int>& right) const {
    for (int task = 0; task < 6; ++task) {
      runtime.spawn([this, file, task, &right] {
        std::string back(100, '.');
        const ssize_t got = task % 2 == 0 ? ::pread(file, back.data(), back.size(), 0) : read(file, back.data(), 100);
        right.fetch_add(got == 100 && back == text_.substr(0, 100) ? 1 : 0);
      });
    }
  }
  const std::string text_ = std::string(8192, 'a');
  const FaultFolder faults_;
  const Folder plain_;
  const std::string copy_ = plain_ / "copy";
};

TEST_F(ExecTest, APreloadedProgramThatIsStartedWorksAndTheReadersGetTheirAnswers) {
  const int file = open((faults_ / "file").c_str(), O_RDONLY | O_CLOEXEC);
  faults_.rules("read hold path=file");
  std::atomic<int> right{0};
  Runtime runtime(Options{.workers = 1});
  spawn_readers(runtime, file, right);
  faults_.await(2);
  runtime
      .spawn([&] {
        const pid_t child = fork();
        if (child == 0) {
          alarm(last_resort_seconds);
          become_a_preloaded_shell();
        }
        EXPECT_EQ(status_of(child), 43);
      })
      .get();
  EXPECT_EQ(contents(copy_), text_);
  faults_.rules("");
  runtime.wait();
  EXPECT_EQ(right.load(), 6);
  ::close(file);
}

TEST_F(ExecTest, APreloadedProgramThatTakesThePlaceOfTheProcessWorks) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(last_resort_seconds);
    const int file = open((faults_ / "file").c_str(), O_RDONLY | O_CLOEXEC);
    std::atomic<int> right{0};
    Runtime runtime(Options{.workers = 1});
    faults_.rules("read delay=500 path=file");
    spawn_readers(runtime, file, right);
    faults_.await(2);
    runtime.spawn([&] { become_a_preloaded_shell(); }).get();
    _exit(5);
  }
  EXPECT_EQ(status_of(child), 43);
  EXPECT_EQ(contents(copy_), text_);
}

}  // namespace
}  // namespace dovetail::test
