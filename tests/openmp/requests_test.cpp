// The library without OpenMP: the function below stands for it, and threads of this program for tasks.
#include <dovetail_omp.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "base/last_resort.hpp"
#include "base/sanitizer.hpp"

namespace {

struct Event {
  std::atomic<int> fulfilled{0};
  std::uintptr_t handle() { return reinterpret_cast<std::uintptr_t>(this); }
  void wait() const { fulfilled.wait(0); }
};

bool small() {
  const char* scale = std::getenv("DOVETAIL_TEST_SCALE");
  return scale != nullptr && std::string(scale) == "small";
}

}  // namespace

// What libgomp and libomp would bring.
extern "C" void omp_fulfill_event(std::uintptr_t event) {
  auto& fulfilled = reinterpret_cast<Event*>(event)->fulfilled;
  fulfilled.fetch_add(1);
  fulfilled.notify_all();
}

namespace {

constexpr std::size_t block = 4096;

class RequestsTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* build = std::getenv("DOVETAIL_BUILD_DIR");
    std::string name = std::string(build != nullptr ? build : ".") + "/omp-requests-XXXXXX";
    file_ = mkstemp(name.data());
    ASSERT_GE(file_, 0);
    path_ = name;
    content_.resize(block * 64);
    for (std::size_t i = 0; i < content_.size(); ++i) {
      content_[i] = static_cast<char>(i * 131 + i / block);
    }
    ASSERT_EQ(pwrite(file_, content_.data(), content_.size(), 0), static_cast<ssize_t>(content_.size()));
    drop();
    dovetail_omp_set_error_handler(dovetail_omp_keep_errors, nullptr);
    dovetail_omp_clear_status();
  }
  void TearDown() override {
    dovetail_omp_set_error_handler(nullptr, nullptr);
    close(file_);
    unlink(path_.c_str());
  }
  // What is in the page cache is read by the call itself.
  void drop() const {
    fdatasync(file_);
    posix_fadvise(file_, 0, 0, POSIX_FADV_DONTNEED);
  }
  std::string kept() const {
    std::array<char, 1024> message{};
    dovetail_omp_status(message.data(), message.size(), nullptr);
    return message.data();
  }
  // One request as a task of its own. Returns its result.
  template <class Call>
  ssize_t one(Call&& call) {
    Event event;
    ssize_t result = -12345;
    dovetail_omp_task* io = dovetail_omp_begin(event.handle());
    call(io, &result);
    dovetail_omp_end(io);
    event.wait();
    return result;
  }

  int file_ = -1;
  std::string path_;
  std::vector<char> content_;
};

TEST_F(RequestsTest, EachKindDoesWhatItsSystemCallDoes) {
  std::vector<char> got(3 * block);
  EXPECT_EQ(one([&](auto* io, auto* r) { dovetail_omp_pread(io, file_, got.data(), block, 5 * block + 7, r); }),
            static_cast<ssize_t>(block));
  EXPECT_EQ(std::memcmp(got.data(), content_.data() + 5 * block + 7, block), 0);
  drop();
  std::array<iovec, 3> parts{{{got.data() + 2 * block, block}, {got.data(), 100}, {got.data() + block, 333}}};
  EXPECT_EQ(one([&](auto* io, auto* r) {
              std::array<iovec, 3> temporary = parts;  // the array is copied
              dovetail_omp_preadv(io, file_, temporary.data(), 3, 11, r);
              temporary.fill({});
            }),
            static_cast<ssize_t>(block + 433));
  EXPECT_EQ(std::memcmp(got.data() + 2 * block, content_.data() + 11, block), 0);
  EXPECT_EQ(std::memcmp(got.data() + block, content_.data() + 11 + block + 100, 333), 0);
  const std::string words = "what was written";
  EXPECT_EQ(one([&](auto* io, auto* r) { dovetail_omp_pwrite(io, file_, words.data(), words.size(), 100, r); }), 16);
  std::array<iovec, 2> sources{{{const_cast<char*>(words.data()), 4}, {const_cast<char*>(words.data()) + 9, 7}}};
  EXPECT_EQ(one([&](auto* io, auto* r) { dovetail_omp_pwritev(io, file_, sources.data(), 2, 200, r); }), 11);
  EXPECT_EQ(one([&](auto* io, auto* r) { dovetail_omp_fsync(io, file_, r); }), 0);
  EXPECT_EQ(one([&](auto* io, auto* r) { dovetail_omp_fdatasync(io, file_, r); }), 0);
  EXPECT_EQ(one([&](auto* io, auto* r) { dovetail_omp_pwrite_fdatasync(io, file_, "durable", 7, 300, r); }), 7);
  ASSERT_EQ(pread(file_, got.data(), 400, 0), 400);
  EXPECT_EQ(std::string(got.data() + 100, 16), words);
  EXPECT_EQ(std::string(got.data() + 200, 11), "whatwritten");
  EXPECT_EQ(std::string(got.data() + 300, 7), "durable");
  EXPECT_EQ(one([&](auto* io, auto* r) { dovetail_omp_pread(io, file_, nullptr, 0, 0, r); }), 0);
  EXPECT_EQ(dovetail_omp_status(nullptr, 0, nullptr), 0) << kept();
}

TEST_F(RequestsTest, TheEventIsFulfilledOnceWhenAllOfAllUsersHaveEnded) {
  const int rounds = small() ? 50 : 500;
  std::vector<char> got(content_.size());
  for (int round = 0; round < rounds; ++round) {
    if (round % 50 == 0) {
      drop();
    }
    Event event;
    std::fill(got.begin(), got.end(), 0);
    dovetail_omp_task* io = dovetail_omp_begin(event.handle());
    dovetail_omp_add(io, 2);
    for (std::size_t i = 0; i < 10; ++i) {
      dovetail_omp_pread(io, file_, got.data() + i * block, block, static_cast<std::int64_t>(i * block), nullptr);
    }
    std::thread other([io] { dovetail_omp_fulfill(io, 1); });
    dovetail_omp_end(io);
    other.join();
    EXPECT_EQ(event.fulfilled.load(), 0);
    dovetail_omp_fulfill(io, 1);
    event.wait();
    ASSERT_EQ(std::memcmp(got.data(), content_.data(), 10 * block), 0);
    ASSERT_EQ(event.fulfilled.load(), 1);
  }
  EXPECT_EQ(dovetail_omp_status(nullptr, 0, nullptr), 0) << kept();
}

TEST_F(RequestsTest, ManyThreadsHandOverAtOnce) {
  const std::size_t tasks = small() ? 200 : 2000;
  constexpr std::size_t threads = 4;
  std::deque<Event> events(threads * tasks);
  std::vector<char> got(threads * content_.size());
  std::vector<ssize_t> results(threads * tasks * 4);
  std::latch all(threads);
  {
    std::vector<std::jthread> pool;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      pool.emplace_back([&, thread] {
        all.arrive_and_wait();
        for (std::size_t task = 0; task < tasks; ++task) {
          if (thread == 0 && task % 20 == 0) {
            drop();
          }
          const std::size_t number = thread * tasks + task;
          dovetail_omp_task* io = dovetail_omp_begin(events[number].handle());
          for (std::size_t part = 0; part < 4; ++part) {
            const std::size_t place = (task * 4 + part) % 64 * block;
            dovetail_omp_pread(io, file_, got.data() + thread * content_.size() + place, block,
                               static_cast<std::int64_t>(place), &results[number * 4 + part]);
          }
          dovetail_omp_end(io);
          if (task >= 16) {
            events[number - 16].wait();  // the same place is read again
          }
        }
      });
    }
  }
  for (Event& event : events) {
    event.wait();
    ASSERT_EQ(event.fulfilled.load(), 1);
  }
  for (const ssize_t result : results) {
    ASSERT_EQ(result, static_cast<ssize_t>(block));
  }
  for (std::size_t thread = 0; thread < threads; ++thread) {
    EXPECT_EQ(std::memcmp(got.data() + thread * content_.size(), content_.data(), content_.size()), 0);
  }
}

TEST_F(RequestsTest, ErrorsComeAsResults) {
  std::vector<char> got(block);
  char* const data = got.data();
  const auto read_from = [&](int descriptor, std::int64_t offset) {
    return one([&](auto* io, auto* r) { dovetail_omp_pread(io, descriptor, data, block, offset, r); });
  };
  const int read_only = open(path_.c_str(), O_RDONLY);
  const int directory = open(".", O_RDONLY | O_DIRECTORY);
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  EXPECT_EQ(read_from(-1, 0), -EBADF);
  EXPECT_EQ(read_from(file_, -1), -EINVAL);
  EXPECT_EQ(read_from(directory, 0), -EISDIR);
  EXPECT_EQ(read_from(pipe_ends[0], 0), -ESPIPE);
  EXPECT_EQ(read_from(file_, static_cast<std::int64_t>(content_.size()) - 10), 10);
  EXPECT_EQ(read_from(file_, static_cast<std::int64_t>(content_.size())), 0);
  EXPECT_EQ(one([&](auto* io, auto* r) { dovetail_omp_pwrite(io, read_only, data, block, 0, r); }), -EBADF);
  EXPECT_EQ(one([&](auto* io, auto* r) { dovetail_omp_pread(io, file_, nullptr, block, 0, r); }), -EFAULT);
  EXPECT_EQ(one([&](auto* io, auto* r) { dovetail_omp_preadv(io, file_, nullptr, 3, 0, r); }), -EFAULT);
  const iovec whole{data, block};
  EXPECT_EQ(one([&](auto* io, auto* r) { dovetail_omp_preadv(io, file_, &whole, -3, 0, r); }), -EINVAL);
  EXPECT_EQ(one([&](auto* io, auto* r) { dovetail_omp_preadv(io, file_, &whole, 100000, 0, r); }), -EINVAL);
  const int full = open("/dev/full", O_WRONLY);
  EXPECT_EQ(one([&](auto* io, auto* r) { dovetail_omp_pwrite(io, full, data, block, 0, r); }), -ENOSPC);
  EXPECT_EQ(one([&](auto* io, auto* r) { dovetail_omp_pwrite_fdatasync(io, full, data, block, 0, r); }), -ENOSPC);
  for (const int descriptor : {read_only, directory, pipe_ends[0], pipe_ends[1], full}) {
    close(descriptor);
  }
  EXPECT_EQ(read_from(read_only, 0), -EBADF);
  EXPECT_EQ(dovetail_omp_status(nullptr, 0, nullptr), 0) << kept();
}

// A descriptor's number says nothing: it may have become another file since the last request.
TEST_F(RequestsTest, ADescriptorThatWasReusedIsTheNewFile) {
  char got = 0;
  int descriptor = open(path_.c_str(), O_RDONLY);
  EXPECT_EQ(one([&](auto* io, auto* r) { dovetail_omp_pread(io, descriptor, &got, 1, 1, r); }), 1);
  EXPECT_EQ(got, content_[1]);
  const std::string other = path_ + "-other";
  std::ofstream(other) << "other";
  const int replacement = open(other.c_str(), O_RDONLY);
  ASSERT_EQ(dup2(replacement, descriptor), descriptor);
  EXPECT_EQ(one([&](auto* io, auto* r) { dovetail_omp_pread(io, descriptor, &got, 1, 1, r); }), 1);
  EXPECT_EQ(got, 't');
  close(descriptor);
  close(replacement);
  unlink(other.c_str());
}

TEST_F(RequestsTest, ErrorsWithoutAPlaceAreNotLost) {
  std::vector<char> got(block);
  const auto read_end = [&](auto* io, auto*) {
    dovetail_omp_pread(io, file_, got.data(), block, static_cast<std::int64_t>(content_.size()) - 10, nullptr);
  };
  one(read_end);
  std::uint64_t count = 0;
  EXPECT_EQ(dovetail_omp_status(nullptr, 0, &count), -ENODATA);
  EXPECT_EQ(count, 1U);
  const std::string offset = std::to_string(content_.size());
  for (const std::string& part : {path_, "offset " + offset, std::string("4086 bytes left"), std::string("pread"),
                                  "errno " + std::to_string(ENODATA)}) {
    EXPECT_NE(kept().find(part), std::string::npos) << kept() << "\ndoes not say " << part;
  }
  one([&](auto* io, auto*) { dovetail_omp_fsync(io, -7, nullptr); });
  EXPECT_EQ(dovetail_omp_status(nullptr, 0, &count), -ENODATA);
  EXPECT_EQ(count, 2U);
  std::array<char, 6> cut{};
  dovetail_omp_status(cut.data(), cut.size(), nullptr);
  EXPECT_STREQ(cut.data(), "pread");
  EXPECT_EQ(dovetail_omp_clear_status(), -ENODATA);
  EXPECT_EQ(dovetail_omp_status(nullptr, 0, &count), 0);
  EXPECT_EQ(count, 0U);
  int status = 17;
  one([&](auto* io, auto* r) {
    dovetail_omp_set_status(io, &status);
    read_end(io, r);
    dovetail_omp_fsync(io, -7, nullptr);
  });
  EXPECT_TRUE(status == -ENODATA || status == -EBADF) << status;
  one([&](auto* io, auto*) {
    dovetail_omp_set_status(io, &status);
    EXPECT_EQ(status, 0);
  });
  EXPECT_EQ(status, 0);
  one([&](auto* io, auto*) {
    dovetail_omp_add(io, 1);
    dovetail_omp_fail(io, -EPROTO, "message");
  });
  EXPECT_EQ(dovetail_omp_clear_status(), -EPROTO);
}

TEST_F(RequestsTest, AHandlerIsToldBeforeTheTaskCompletes) {
  struct Seen {
    Event event;
    int calls = 0;
    dovetail_omp_error error{};
    int fulfilled_then = -1;
  } seen;
  dovetail_omp_set_error_handler(
      [](const dovetail_omp_error* error, void* argument) {
        Seen& it = *static_cast<Seen*>(argument);
        ++it.calls;
        it.error = *error;
        it.fulfilled_then = it.event.fulfilled.load();
      },
      &seen);
  std::vector<char> got(block);
  dovetail_omp_task* io = dovetail_omp_begin(seen.event.handle());
  dovetail_omp_pread(io, file_, got.data(), block, 1 << 30, nullptr);
  dovetail_omp_end(io);
  seen.event.wait();
  EXPECT_EQ(seen.calls, 1);
  EXPECT_EQ(seen.fulfilled_then, 0);
  EXPECT_EQ(seen.error.error, -ENODATA);
  EXPECT_EQ(seen.error.descriptor, file_);
  EXPECT_EQ(seen.error.offset, 1 << 30);
  EXPECT_EQ(seen.error.left, block);
}

// In a process of its own, since it ends it. Returns its wait status.
template <class Body>
int in_child(Body&& body) {
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(dovetail::test::last_resort_seconds);
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

// ThreadSanitizer allows no threads in the child of a fork; under AddressSanitizer they are known to hang there.
bool no_threads_after_fork() {
#if DOVETAIL_ADDRESS_SANITIZER
  return true;
#else
  const char* sanitizer = std::getenv("DOVETAIL_SANITIZE");
  return sanitizer != nullptr && *sanitizer != '\0';
#endif
}

TEST_F(RequestsTest, ByDefaultAnErrorWithoutAPlaceEndsTheProgram) {
  const int status = in_child([&] {
    [[maybe_unused]] const int closed = close(2);
    dovetail_omp_set_error_handler(nullptr, nullptr);
    Event event;
    dovetail_omp_task* io = dovetail_omp_begin(event.handle());
    dovetail_omp_fsync(io, -1, nullptr);
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
}

TEST_F(RequestsTest, WhatWasHandedOverReachesTheFileAtExit) {
  if (no_threads_after_fork()) {
    GTEST_SKIP() << "no threads in the child of a fork here";
  }
  for (int round = 0; round < 10; ++round) {
    ASSERT_EQ(ftruncate(file_, 0), 0);
    const int status = in_child([&] {
      static Event event;
      dovetail_omp_task* io = dovetail_omp_begin(event.handle());
      for (std::size_t i = 0; i < 64; ++i) {
        const auto place = static_cast<std::int64_t>(i * block);
        dovetail_omp_pwrite(io, file_, content_.data() + i * block, block, place, nullptr);
      }
      dovetail_omp_end(io);
      exit(0);
    });
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    std::vector<char> got(content_.size());
    ASSERT_EQ(pread(file_, got.data(), got.size(), 0), static_cast<ssize_t>(got.size()));
    ASSERT_EQ(got, content_);
  }
}

TEST_F(RequestsTest, ParentAndChildOfAForkGoOn) {
  if (no_threads_after_fork()) {
    GTEST_SKIP() << "no threads in the child of a fork here";
  }
  std::vector<char> got(content_.size());
  for (int round = 0; round < 10; ++round) {
    drop();
    Event event;
    dovetail_omp_task* io = dovetail_omp_begin(event.handle());
    for (std::size_t i = 0; i < 64; ++i) {
      dovetail_omp_pread(io, file_, got.data() + i * block, block, static_cast<std::int64_t>(i * block), nullptr);
    }
    dovetail_omp_end(io);
    const int status = in_child([&] {
      std::vector<char> own(content_.size());
      posix_fadvise(file_, 0, 0, POSIX_FADV_DONTNEED);
      const auto size = static_cast<ssize_t>(own.size());
      const ssize_t moved =
          one([&](auto* task, auto* r) { dovetail_omp_pread(task, file_, own.data(), own.size(), 0, r); });
      if (moved != size || own != content_) {
        _exit(1);
      }
      exit(42);
    });
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
    event.wait();
    ASSERT_EQ(got, content_);
    std::fill(got.begin(), got.end(), 0);
  }
}

TEST_F(RequestsTest, StoppedWhileOthersHandOver) {
  const int rounds = small() ? 20 : 200;
  std::atomic<bool> over{false};
  std::jthread stopper([&] {
    while (!over.load()) {
      EXPECT_EQ(dovetail_omp_stop(), 0);
      std::this_thread::yield();
    }
  });
  std::vector<char> got(8 * block);
  for (int round = 0; round < rounds; ++round) {
    EXPECT_EQ(one([&](auto* io, auto* r) {
                for (int i = 0; i < 8; ++i) {
                  dovetail_omp_pwrite(io, file_, content_.data(), block, i * static_cast<int>(block),
                                      i == 0 ? r : nullptr);
                }
              }),
              static_cast<ssize_t>(block));
  }
  over.store(true);
}

TEST_F(RequestsTest, StopLeavesNoThread) {
  const auto threads = [] {
    std::ifstream status("/proc/self/status");
    std::string word;
    int count = 0;
    while (status >> word && word != "Threads:") {
    }
    status >> count;
    return count;
  };
  EXPECT_EQ(dovetail_omp_stop(), 0);
  const int before = threads();  // a sanitizer has one of its own
  one([&](auto* io, auto* r) { dovetail_omp_pwrite(io, file_, content_.data(), block, 0, r); });
  EXPECT_GT(threads(), before);
  EXPECT_EQ(dovetail_omp_stop(), 0);
  EXPECT_EQ(threads(), before);
}

}  // namespace
