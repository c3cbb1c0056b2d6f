// Bad luck: shared and closed descriptors, signals, children, all while calls are under way.
#include <signal.h>
#include <spawn.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <map>
#include <mutex>
#include <thread>

#include "base/last_resort.hpp"
#include "storage/fault_folder.hpp"

namespace dovetail::test {
namespace {

constexpr std::size_t record_size = 16;
using Record = std::array<char, record_size>;

Record record_of(std::size_t number) {
  const std::string digits = std::to_string(number);
  Record record;
  record.fill('0');
  std::copy(digits.begin(), digits.end(), record.end() - 1 - static_cast<std::ptrdiff_t>(digits.size()));
  record.back() = '\n';
  return record;
}

void make_records(const std::string& path, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    const Record record = record_of(i);
    all.append(record.data(), record.size());
  }
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644);
  ASSERT_EQ(bare_write(file, all.data(), all.size()), static_cast<ssize_t>(all.size()));
  syscall(SYS_fsync, file);
  posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  close(file);
}

int make_file(const std::string& path, char letter) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  const std::string text(8192, letter);
  EXPECT_EQ(bare_write(file, text.data(), text.size()), 8192);
  EXPECT_EQ(lseek(file, 0, SEEK_SET), 0);
  return file;
}

class LuckTest : public testing::Test {
 protected:
  // On the disk of the build tree, and where every call waits.
  void on_both(const std::function<void(const std::string&)>& body) {
    body(plain_ / "file");
    if (faults_.available()) {
      body(faults_ / "file");
    }
  }
  const Folder plain_;
  const FaultFolder faults_;
};

TEST_F(LuckTest, ReadersOfOneDescriptorGetDifferentBytes) {
  const std::size_t count = scaled(3000, 600);
  on_both([&](const std::string& path) {
    make_records(path, count);
    const int file = open(path.c_str(), O_RDONLY);
    const int copy = dup(file);
    std::mutex mutex;
    std::map<std::string, int> seen;
    {
      Runtime runtime(Options{.workers = 2});
      for (int task = 0; task < 8; ++task) {
        runtime.spawn([&, descriptor = task % 2 == 0 ? file : copy] {
          Record record;
          ssize_t got = 0;
          while ((got = read(descriptor, record.data(), record.size())) != 0) {
            ASSERT_EQ(got, static_cast<ssize_t>(record.size()));
            const std::lock_guard lock(mutex);
            ++seen[std::string(record.data(), record.size())];
          }
        });
      }
      runtime.wait();
    }
    EXPECT_EQ(seen.size(), count);
    for (std::size_t i = 0; i < count; ++i) {
      const Record record = record_of(i);
      ASSERT_EQ(seen[std::string(record.data(), record.size())], 1) << i;
    }
    close(file);
    close(copy);
  });
}

TEST_F(LuckTest, WritersOfOneDescriptorAndAppendersLoseNothing) {
  const std::size_t each = scaled(200, 40);
  on_both([&](const std::string& path) {
    for (const int flags : {0, O_APPEND}) {
      make_records(path, 1);
      std::vector<int> files{open(path.c_str(), O_WRONLY | flags)};
      lseek(files[0], 0, SEEK_END);
      files.push_back(flags == 0 ? dup(files[0]) : open(path.c_str(), O_WRONLY | flags));
      {
        Runtime runtime(Options{.workers = 2});
        for (std::size_t task = 0; task < 8; ++task) {
          runtime.spawn([&, task] {
            for (std::size_t i = 0; i < each; ++i) {
              const Record record = record_of(1 + task * each + i);
              ASSERT_EQ(write(files[task % 2], record.data(), record.size()), 16);
            }
          });
        }
        // A thread that is none of the runtime's writes in between.
        std::thread([&] {
          for (std::size_t i = 0; i < each; ++i) {
            const Record record = record_of(1 + 8 * each + i);
            ASSERT_EQ(write(files[i % 2], record.data(), record.size()), 16);
          }
        }).join();
        runtime.wait();
      }
      const std::string all = contents(path);
      ASSERT_EQ(all.size(), (1 + 9 * each) * record_size);
      std::vector<std::string> records;
      for (std::size_t at = 0; at < all.size(); at += record_size) {
        records.push_back(all.substr(at, record_size));
      }
      std::sort(records.begin(), records.end());
      for (std::size_t i = 0; i < records.size(); ++i) {
        const Record record = record_of(i);
        ASSERT_EQ(records[i], std::string(record.data(), record.size()));
      }
      close(files[0]);
      close(files[1]);
    }
  });
}

// How many threads wait in the kernel in a read of this descriptor. A thread that waits there holds the file.
int waiting_readers(int descriptor) {
  int waiting = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(thread.path() / "syscall");
    long number = -1;
    unsigned long first = 0;
    // "running" where the thread does not wait
    if (file >> number >> std::hex >> first && (number == SYS_read || number == SYS_pread64) &&
        first == static_cast<unsigned long>(descriptor)) {
      ++waiting;
    }
  }
  return waiting;
}

// While tasks read from a descriptor, its number is given to another file. With many executors all calls are in the kernel by then;
// one that had looked at the descriptor and not yet arrived there would read the other file, as in any program. With one executor
// the others wait for their turn.
TEST_F(LuckTest, ADescriptorThatChangesUnderWayNeverGivesAnotherFile) {
  if (!faults_.available()) {
    GTEST_SKIP() << "no FUSE here";
  }
  constexpr int readers = 10;
  enum Way { reopened, replaced, closed };
  for (const Way way : {reopened, replaced, closed}) {
    for (const unsigned executors : {1U, 64U}) {
      faults_.rules("");
      const int file = make_file(faults_ / "file", 'a');
      close(make_file(faults_ / "other", 'b'));
      faults_.rules("read hold path=file");
      std::atomic<int> right{0};
      std::atomic<int> refused{0};
      std::latch begun(readers);
      {
        Runtime runtime(Options{.workers = 1, .io_executors = executors});
        for (int task = 0; task < readers; ++task) {
          runtime.spawn([&, task] {
            std::string text(100, '.');
            errno = 0;
            begun.count_down();
            const ssize_t got =
                task % 2 == 0 ? ::pread(file, text.data(), text.size(), 0) : read(file, text.data(), text.size());
            if (got == 100 && text == std::string(100, 'a')) {
              right.fetch_add(1);
            } else if (got == -1 && errno == EBADF) {
              refused.fetch_add(1);
            } else {
              ADD_FAILURE() << got << " " << errno << " " << text;
            }
          });
        }
        // The one worker comes to what is spawned from here when the last of the readers pauses.
        begun.wait();
        while (waiting_readers(file) < (executors == 1 ? 1 : readers)) {
          std::this_thread::yield();
        }
        runtime
            .spawn([&] {
              // By bare system calls: ThreadSanitizer, rightly, calls it a race to close what others read from.
              if (way == reopened) {
                syscall(SYS_close, file);
                ASSERT_EQ(syscall(SYS_open, (faults_ / "other").c_str(), O_RDONLY), file);
              } else if (way == replaced) {
                const int other = open((faults_ / "other").c_str(), O_RDONLY);
                ASSERT_EQ(syscall(SYS_dup2, other, file), file);
                close(other);
              } else {
                syscall(SYS_close, file);
              }
            })
            .get();
        faults_.rules("");
        runtime.wait();
      }
      EXPECT_EQ(right.load() + refused.load(), readers);
      EXPECT_EQ(right.load(), executors == 1 ? 1 : readers);
      close(file);
    }
  }
}

std::atomic<int> handler_file{-1};
std::atomic<int> handled{0};
void write_in_handler(int) {
  const int before = errno;
  const Record record = record_of(static_cast<std::size_t>(handled.fetch_add(1)));
  if (write(handler_file.load(), record.data(), record.size()) != 16) {
    abort();
  }
  errno = before;
}

TEST_F(LuckTest, AHandlerThatWritesDoesNotPause) {
  on_both([&](const std::string& path) {
    handled.store(0);
    handler_file.store(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644));
    struct sigaction action{};
    action.sa_handler = write_in_handler;
    sigaction(SIGUSR1, &action, nullptr);
    Runtime runtime(Options{.workers = 1});
    std::atomic<bool> others{false};
    runtime.spawn([&] {
      spawn([&] { others.store(true); });
      for (int i = 0; i < 50; ++i) {
        raise(SIGUSR1);
        ASSERT_EQ(handled.load(), i + 1);
        ASSERT_FALSE(others.load());  // the one worker has been here all the time
      }
      EXPECT_EQ(contents(path).size(), 50 * record_size);
    });
    runtime.wait();
    close(handler_file.load());
  });
}

TEST_F(LuckTest, SignalsInTheMiddle) {
  on_both([&](const std::string& path) {
    make_records(path, 256);
    handled.store(0);
    handler_file.store(open((path + ".log").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644));
    struct sigaction action{};
    action.sa_handler = write_in_handler;  // no SA_RESTART
    sigaction(SIGALRM, &action, nullptr);
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    {
      Runtime runtime(Options{.workers = 2});
      const itimerval often{{0, 700}, {0, 700}};
      setitimer(ITIMER_REAL, &often, nullptr);
      for (std::size_t task = 0; task < 8; ++task) {
        runtime.spawn([&, task] {
          const int file = open(path.c_str(), O_RDWR);
          for (std::size_t i = 0; i < scaled(150, 30); ++i) {
            Record record;
            ssize_t got = 0;
            // Where the file system lets a signal end a call, it says so and the program asks again: as without us.
            while ((got = ::pread(file, record.data(), 16, static_cast<off_t>(16 * (i % 256)))) < 0 && errno == EINTR) {
            }
            ASSERT_EQ(got, 16) << errno;
            ASSERT_EQ(record, record_of(i % 256));
            while ((got = ::pwrite(file, record.data(), 16, static_cast<off_t>(16 * (i % 256)))) < 0 &&
                   errno == EINTR) {
            }
            ASSERT_EQ(got, 16) << errno;
          }
          close(file);
        });
      }
      runtime.wait();
      const itimerval never{};
      setitimer(ITIMER_REAL, &never, nullptr);
    }
    signal(SIGALRM, SIG_DFL);
    EXPECT_EQ(contents(path + ".log").size(), static_cast<std::size_t>(handled.load()) * record_size);
    close(handler_file.load());
  });
}

// A task that has blocked signals keeps its thread: the mask is the thread's.
TEST_F(LuckTest, ABlockedSignalKeepsTheTaskInPlace) {
  on_both([&](const std::string& path) {
    make_records(path, 10);
    Runtime runtime(Options{.workers = 1});
    std::atomic<bool> others{false};
    runtime.spawn([&] {
      spawn([&] { others.store(true); });
      sigset_t set;
      sigset_t before;
      sigemptyset(&set);
      sigaddset(&set, SIGUSR2);
      pthread_sigmask(SIG_BLOCK, &set, &before);
      const int file = open(path.c_str(), O_RDWR);
      Record record;
      EXPECT_EQ(::pread(file, record.data(), 16, 16), 16);
      EXPECT_EQ(write(file, record.data(), 16), 16);
      EXPECT_EQ(::fsync(file), 0);
      EXPECT_FALSE(others.load());
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      // Now it pauses; the child runs in one of the pauses, unless each ends before the worker has looked.
      while (!others.load()) {
        ASSERT_EQ(::fsync(file), 0);
      }
      close(file);
    });
    runtime.wait();
  });
}

// What a child does with files, whatever was under way when it was made. Only what is allowed after a fork of a process with
// threads. 42 if all is well.
int child_uses_files(const char* path) {
  const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
  char text[6] = {};
  const bool good = write(file, "child", 5) == 5 && ::pwrite(file, "CH", 2, 0) == 2 && ::fsync(file) == 0 &&
                    ::pread(file, text, 5, 0) == 5 && memcmp(text, "CHild", 5) == 0 && lseek(file, 0, SEEK_SET) == 0 &&
                    read(file, text, 3) == 3 && close(file) == 0;
  return good ? 42 : 1;
}

int status_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST_F(LuckTest, ChildrenOfATaskWithCallsInFlight) {
  if (!faults_.available()) {
    GTEST_SKIP() << "no FUSE here";
  }
  const int file = make_file(faults_ / "file", 'a');
  faults_.rules("read hold path=file");
  const std::string child_path = plain_ / "child";
  Runtime runtime(Options{.workers = 1});
  std::atomic<int> right{0};
  for (int task = 0; task < 8; ++task) {
    runtime.spawn([&, task] {
      std::string text(100, '.');
      const ssize_t got =
          task % 2 == 0 ? ::pread(file, text.data(), text.size(), 0) : read(file, text.data(), text.size());
      right.fetch_add(got == 100 && text == std::string(100, 'a') ? 1 : 0);
    });
  }
  faults_.await(2);
  runtime
      .spawn([&] {
        const pid_t forked = fork();
        if (forked == 0) {
          alarm(last_resort_seconds);
          _exit(child_uses_files(child_path.c_str()));
        }
        EXPECT_EQ(status_of(forked), 42);
        // The child runs in our memory, on the same stack, and must leave no trace of itself in the runtime.
        const pid_t quick = vfork();
        if (quick == 0) {
          _exit(child_uses_files(child_path.c_str()));
        }
        EXPECT_EQ(status_of(quick), 42);
        pid_t spawned = 0;
        char name[] = "true";
        char* words[] = {name, nullptr};
        EXPECT_EQ(posix_spawn(&spawned, "/bin/true", nullptr, nullptr, words, environ), 0);
        EXPECT_EQ(status_of(spawned), 0);
      })
      .get();
  EXPECT_EQ(contents(child_path), "CHild");
  faults_.rules("");
  runtime.wait();
  EXPECT_EQ(right.load(), 8);
  close(file);
}

TEST_F(LuckTest, ExecEndsAProcessWithCallsInFlight) {
  if (!faults_.available()) {
    GTEST_SKIP() << "no FUSE here";
  }
  const char* sanitizer = std::getenv("DOVETAIL_SANITIZE");
  if (sanitizer != nullptr && std::string(sanitizer) == "thread") {
    GTEST_SKIP() << "ThreadSanitizer allows no threads in the child of a fork";
  }
  const int file = make_file(faults_ / "file", 'a');
  faults_.rules("read hold path=file");
  const pid_t child = fork();
  if (child == 0) {
    alarm(last_resort_seconds);
    Runtime runtime(Options{.workers = 1});
    for (int task = 0; task < 4; ++task) {
      runtime.spawn([&] {
        char text[100];
        if (::pread(file, text, sizeof text, 0) != 100) {
          _exit(3);
        }
      });
    }
    faults_.await(1);
    runtime.spawn([&] { execl("/bin/sh", "sh", "-c", "exit 43", nullptr); }).get();
    _exit(4);
  }
  EXPECT_EQ(status_of(child), 43);
  faults_.rules("");
  close(file);
}

// One after the other from places where a program should not expect much.
struct AtThreadEnd {
  int file;
  std::atomic<int>* right;
  ~AtThreadEnd() {
    char byte = 0;
    right->fetch_add(::pread(file, &byte, 1, 5) == 1 && byte == 'a' ? 1 : 0);
  }
};

TEST_F(LuckTest, DestructorsOfThreadLocals) {
  on_both([&](const std::string& path) {
    const int file = make_file(path, 'a');
    std::atomic<int> right{0};
    {
      Runtime runtime(Options{.workers = 2});
      for (int i = 0; i < 20; ++i) {
        runtime.spawn([&] {
          static thread_local AtThreadEnd local{file, &right};
          local = {file, &right};
          char byte = 0;
          EXPECT_EQ(::pread(file, &byte, 1, 0), 1);
        });
      }
      runtime.wait();
    }  // the workers end here
    EXPECT_GE(right.load(), 1);
    EXPECT_LE(right.load(), 2 + 20);
    close(file);
  });
}

}  // namespace
}  // namespace dovetail::test
