// Places where the system gives less than usual: no io_uring, few descriptors, little locked memory, a full or absent disk,
// the child of a fork. Each case runs in a process of its own, since limits cannot be taken back.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>

#include "base/last_resort.hpp"
#include "base/sanitizer.hpp"
#include "storage/storage_service.hpp"
#include "support.hpp"

namespace dovetail::test {
namespace {

// Runs `body` in a child that has no other thread. It is right if it returns true.
void in_child(const std::function<bool()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(last_resort_seconds);  // whatever hangs here must not outlive the test
    bool right = false;
    try {
      right = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in the child: %s\n", error.what());
    }
    std::fflush(nullptr);
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Writes and reads through tasks in both forms.
bool works(Runtime& runtime, const std::string& path) {
  const auto data = random_bytes(50000, 1);
  std::vector<std::byte> back(data.size());
  const File file = File::open(path, O_RDWR | O_CREAT, {.direct = Direct::automatic});
  for (std::size_t i = 0; i < 50; ++i) {
    runtime.spawn([&, i] { file.ipwrite(std::span(data).subspan(i * 1000, 1000), i * 1000); });
  }
  runtime.wait();
  runtime.spawn([&] { file.pread(back, 0); }).get();
  return back == data;
}

// Has a system call fail with `error` from now on, in this process.
bool forbid(unsigned call, int error) {
  const sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, static_cast<std::uint32_t>(SECCOMP_RET_ERRNO | error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{sizeof program / sizeof program[0], const_cast<sock_filter*>(program)};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

bool has(const std::string& text, std::initializer_list<const char*> words) {
  return std::all_of(words.begin(), words.end(), [&](const char* word) {
    if (text.find(word) != std::string::npos) {
      return true;
    }
    std::fprintf(stderr, "\"%s\" is not in: %s\n", word, text.c_str());
    return false;
  });
}

TEST(Limits, WithoutIoUringTheOlderInterfaceDoesTheWorkAndTheReasonIsKept) {
  if (!aio_available()) {
    GTEST_SKIP() << "no asynchronous I/O of Linux here";
  }
  // ENOMEM is what kernels say that count rings among the locked memory of their user.
  for (const auto& [error, words] :
       {std::pair{EPERM, "seccomp"}, {ENOSYS, "no io_uring"}, {ENOMEM, "RLIMIT_MEMLOCK"}}) {
    Folder folder;
    in_child([&] {
      if (!forbid(SYS_io_uring_setup, error)) {
        return false;
      }
      Runtime runtime(Options{.workers = 2, .engine = "auto"});
      const bool right = works(runtime, folder / "a");
      const std::string why = storage::StorageService::of(runtime.core())->why();
      return right && why.find("aio") == 0 && has(why, {"io_uring_setup", words});
    });
  }
}

TEST(Limits, WithoutEitherThreadsDoTheWorkAndBothReasonsAreKept) {
  Folder folder;
  in_child([&] {
    if (!forbid(SYS_io_uring_setup, EPERM) || !forbid(SYS_io_setup, EAGAIN)) {
      return false;
    }
    Runtime runtime(Options{.workers = 2, .engine = "auto"});
    const bool right = works(runtime, folder / "a");
    const std::string why = storage::StorageService::of(runtime.core())->why();
    return right && why.find("threads") == 0 && has(why, {"io_uring_setup", "seccomp", "io_setup", "fs.aio-max-nr"});
  });
}

// What `submit` cannot hand over goes to threads, and comes to its end.
TEST(Limits, SubmissionsThatTheSystemRefusesAreMadeByThreads) {
  for (const int error : {EAGAIN, EINVAL, EOPNOTSUPP}) {
    Folder folder;
    in_child([&] {
      if (!aio_available()) {
        return true;
      }
      if (!forbid(SYS_io_submit, error)) {
        return false;
      }
      Runtime runtime(Options{.workers = 2, .engine = "aio"});
      return works(runtime, folder / "a");
    });
  }
}

TEST(Limits, AnEngineAskedForButForbiddenIsAnErrorThatSaysSo) {
  const auto refused = [](unsigned call, int error, const char* engine, std::initializer_list<const char*> words) {
    in_child([&] {
      if (!forbid(call, error)) {
        return false;
      }
      try {
        Runtime runtime(Options{.workers = 1, .engine = engine});
        return false;
      } catch (const std::invalid_argument& refusal) {
        return has(refusal.what(), words) && has(refusal.what(), {engine, "threads", "DOVETAIL_ENGINE"});
      }
    });
  };
  refused(SYS_io_uring_setup, EPERM, "uring", {"seccomp"});
  refused(SYS_io_uring_setup, ENOMEM, "uring", {"RLIMIT_MEMLOCK"});
  refused(SYS_io_setup, EPERM, "aio", {"seccomp"});
  refused(SYS_io_setup, EAGAIN, "aio", {"fs.aio-max-nr"});
}

TEST(Limits, AnUnknownEngineIsRefusedWithTheChoices) {
  try {
    Runtime runtime(Options{.workers = 1, .engine = "floppy"});
    FAIL() << "an unknown engine was taken";
  } catch (const std::invalid_argument& error) {
    const std::string text = error.what();
    for (const char* word : {"floppy", "DOVETAIL_ENGINE", "auto", "uring", "aio", "threads"}) {
      EXPECT_NE(text.find(word), std::string::npos) << word;
    }
  }
}

TEST(Limits, FewDescriptors) {
  for (const unsigned spare : {1U, 2U, 4U}) {
    Folder folder;
    in_child([&] {
      const int next = dup(0);
      close(next);
      const File file = File::open(folder / "a", O_RDWR | O_CREAT);
      // What is left is for rings and eventfds, and not enough for all of them.
      const rlimit limit{static_cast<rlim_t>(next) + 1 + spare, static_cast<rlim_t>(next) + 1 + spare};
      if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return false;
      }
      Runtime runtime(Options{.workers = 2, .engine = "auto"});
      const auto data = random_bytes(200000, 1);
      for (std::size_t i = 0; i < 200; ++i) {
        runtime.spawn([&, i] { file.ipwrite(std::span(data).subspan(i * 1000, 1000), i * 1000); });
      }
      runtime.wait();
      std::vector<std::byte> back(data.size());
      runtime.spawn([&] { file.pread(back, 0); }).get();
      return back == data;
    });
  }
}

TEST(Limits, NoDescriptorLeftIsAnErrorOfOpen) {
  Folder folder;
  in_child([&] {
    const rlimit limit{3, 3};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
      return false;
    }
    Runtime runtime(Options{.workers = 1, .engine = "auto"});
    auto task = runtime.spawn([&] { File::open(folder / "a", O_RDWR | O_CREAT); });
    try {
      task.get();
      return false;
    } catch (const TaskFailed& failure) {
      return io_error_of(failure).code().value() == EMFILE;
    }
  });
}

// Sets the limit and becomes a user whom it binds: root may lock as much as it likes.
bool limit_locked_memory(rlim_t bytes) {
  constexpr unsigned nobody = 65534;
  const rlimit limit{bytes, bytes};
  return setrlimit(RLIMIT_MEMLOCK, &limit) == 0 && (geteuid() != 0 || (setgid(nobody) == 0 && setuid(nobody) == 0));
}

TEST(Limits, LittleLockedMemory) {
  for (const char* engine : {"auto", "uring"}) {
    Folder folder;
    in_child([&] {
      const auto data = random_bytes(50000, seed());
      std::vector<std::byte> back(data.size());
      const File file = File::open(folder / "a", O_RDWR | O_CREAT, {.direct = Direct::automatic});
      if (!limit_locked_memory(4096)) {
        return false;
      }
      if (std::string(engine) == "uring" && !ring_available()) {
        // Kernels that count rings, too: a program that insists on one is told why there is none.
        try {
          Runtime runtime(Options{.workers = 1, .engine = engine});
          return false;
        } catch (const std::invalid_argument& refusal) {
          return has(refusal.what(), {"io_uring_setup", "uring", "threads", "DOVETAIL_ENGINE"});
        }
      }
      Runtime runtime(Options{.workers = 2, .engine = engine});
      for (std::size_t i = 0; i < 50; ++i) {
        runtime.spawn([&, i] { file.ipwrite(std::span(data).subspan(i * 1000, 1000), i * 1000); });
      }
      runtime.wait();
      runtime.spawn([&] { file.pread(back, 0); }).get();
      return back == data;
    });
  }
}

// Memory that a ring may not keep registered says so, and transfers to and from it move the same bytes.
TEST(Limits, BuffersLargerThanTheLockedMemoryAreRefusedAndWorkAsPlainMemory) {
  if (!ring_available()) {
    GTEST_SKIP() << "no io_uring here";
  }
  using enum IoBuffer::Registration;
  constexpr rlim_t enough = 8 << 20;
  for (const auto& [bytes, expected] : {std::pair{rlim_t{256} << 10, refused}, {enough, accepted}}) {
    rlimit most{};
    ASSERT_EQ(getrlimit(RLIMIT_MEMLOCK, &most), 0);
    if (most.rlim_max < bytes) {
      std::cout << "not tried: this process may lock " << most.rlim_max << " bytes only" << std::endl;
      continue;
    }
    Folder folder;
    in_child([&] {
      const auto data = random_bytes(2 << 20, seed());
      const File file = File::open(folder / "a", O_RDWR | O_CREAT, {.direct = Direct::automatic});
      if (!limit_locked_memory(bytes)) {
        return false;
      }
      Runtime runtime(Options{.workers = 1, .engine = "uring"});
      IoBuffer out(data.size());
      IoBuffer back(data.size());
      std::copy(data.begin(), data.end(), out.begin());
      runtime.spawn([&] { file.ipwrite(out.span(), 0); }).get();
      runtime.spawn([&] { file.pread(back.span(), 0); }).get();
      const int error = expected == refused ? ENOMEM : 0;
      if (out.registration() != expected || back.registration() != expected || out.registration_error() != error ||
          back.registration_error() != error) {
        std::fprintf(stderr, "with %ju bytes: registration %d (errno %d) and %d (%d)\n",
                     static_cast<std::uintmax_t>(bytes), static_cast<int>(out.registration()), out.registration_error(),
                     static_cast<int>(back.registration()), back.registration_error());
        return false;
      }
      return std::equal(data.begin(), data.end(), back.begin());
    });
  }
}

TEST(Limits, AFullDiskIsTold) {
  Runtime runtime(Options{.workers = 2});
  const File full = File::open("/dev/full", O_WRONLY);
  auto bound = runtime.spawn({.label = "fill"}, [&] { full.ipwrite(std::string_view("data"), 4096); });
  try {
    bound.get();
    FAIL() << "a full device took data";
  } catch (const TaskFailed& failure) {
    const IoError error = io_error_of(failure);
    EXPECT_EQ(error.code().value(), ENOSPC);
    EXPECT_EQ(error.path(), "/dev/full");
    EXPECT_EQ(error.offset(), 4096U);
  }
}

TEST(Limits, TheFileSizeLimitIsTold) {
  Folder folder;
  in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{8192, 8192};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
      return false;
    }
    Runtime runtime(Options{.workers = 1});
    const File file = File::open(folder / "a", O_RDWR | O_CREAT);
    auto task = runtime.spawn([&] { file.pwrite(random_bytes(20000, 1), 0); });
    try {
      task.get();
      return false;
    } catch (const TaskFailed& failure) {
      const IoError error = io_error_of(failure);
      return error.code().value() == EFBIG && error.offset() == 8192 && error.length() == 20000 - 8192;
    }
  });
}

// Linux itself calls what crosses the limit there not aligned.
TEST(Limits, TheFileSizeLimitIsToldPastThePageCacheToo) {
  Folder folder;
  in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    constexpr std::size_t most = 1'000'000;
    const rlimit limit{most, most};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
      return false;
    }
    Runtime runtime(Options{.workers = 1});
    const File file = File::open(folder / "a", O_RDWR | O_CREAT, {.direct = Direct::automatic});
    auto task = runtime.spawn([&] { file.pwrite(random_bytes(3'000'001, 1), 0); });
    try {
      task.get();
      return false;
    } catch (const TaskFailed& failure) {
      const IoError error = io_error_of(failure);
      return error.code().value() == EFBIG && error.offset() <= most && file.size() <= error.offset();
    }
  });
}

class ForkTest : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
#if DOVETAIL_ADDRESS_SANITIZER || DOVETAIL_THREAD_SANITIZER
    // Found in a debugger: the child waits for a lock of the sanitizer's own allocator, held by a thread that is not there.
    GTEST_SKIP() << "g++ 12's sanitizers do not release the locks of their allocators in the child of a fork";
#endif
  }
};

// In the child the workers are gone and the rings belong to the parent: calls are plain there, and the parent goes on.
TEST_P(ForkTest, TheChildReadsAndWritesAndTheParentDoesNotNotice) {
  Runtime runtime(options());
  const std::string path = folder_ / "a";
  const File file = File::open(path, O_RDWR | O_CREAT);
  const auto data = random_bytes(100000, seed());
  runtime.spawn([&] { file.pwrite(data, 0); }).get();
  for (int round = 0; round < 10; ++round) {
    std::atomic<bool> go_on{true};
    for (std::size_t i = 0; i < 4; ++i) {
      runtime.spawn([&] {
        std::vector<std::byte> back(data.size());
        do {
          file.pread(back, 0);
          this_task::yield();
        } while (go_on.load());
        EXPECT_TRUE(back == data);
      });
    }
    in_child([&] {
      std::vector<std::byte> back(data.size());
      File own = File::open(path, O_RDONLY);
      const bool right = own.pread(back, 0) == data.size() && back == data && file.pread(back, 0) == data.size();
      own.close();
      return right;
    });
    go_on.store(false);
    runtime.wait();
  }
}

TEST_P(ForkTest, AForkFromATask) {
  Runtime runtime(options());
  const std::string path = folder_ / "a";
  const auto data = random_bytes(100000, seed());
  const File file = File::open(path, O_RDWR | O_CREAT);
  runtime
      .spawn([&] {
        file.pwrite(data, 0);
        in_child([&] {
          std::vector<std::byte> back(data.size());
          std::size_t moved = 0;
          file.ipread(back, 0, &moved);  // no task here: it has ended when it returns
          return moved == data.size() && back == data;
        });
        std::vector<std::byte> back(data.size());
        EXPECT_EQ(file.pread(back, 0), data.size());
        EXPECT_TRUE(back == data);
      })
      .get();
}

DOVETAIL_FOR_EACH_ENGINE(ForkTest);

}  // namespace
}  // namespace dovetail::test
