// Events in a process while the system works on its requests. They are a fork, an exec, a storm of signals, a task that
// fails, a device that does not answer.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <functional>
#include <map>
#include <mutex>

#include "base/last_resort.hpp"
#include "base/sanitizer.hpp"
#include "fault_folder.hpp"
#include "held.hpp"

namespace dovetail::test {
namespace {

constexpr std::size_t block = 64 * 1024;

// Runs `body` in a child, which must not outlive the test; what it returns is the exit status.
int status_of_child(const std::function<int()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(last_resort_seconds);
    int status = 1;
    try {
      status = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "in the child: %s\n", error.what());
    }
    std::fflush(nullptr);
    _exit(status);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

class InFlightTest : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    if (!faults_.available()) {
      GTEST_SKIP() << "no FUSE here";
    }
    data_ = random_bytes(readers * block, seed());
    const File file = File::open(faults_.behind("file"), O_RDWR | O_CREAT);
    file.pwrite(data_, 0);
  }

  static constexpr std::size_t readers = 8;

  // Reads the file in pieces, in both forms.
  void spawn_readers(Runtime& runtime, const File& file, std::vector<std::byte>& back) const {
    back.assign(data_.size(), std::byte{});
    for (std::size_t i = 0; i < readers; ++i) {
      runtime.spawn([&file, &back, i] {
        const std::span piece = std::span(back).subspan(i * block, block);
        i % 2 == 0 ? file.ipread(piece, i * block) : void(file.pread(piece, i * block));
      });
    }
  }

  const FaultFolder faults_;
  std::vector<std::byte> data_;
};

TEST_P(InFlightTest, TheChildOfAForkHasFilesOfItsOwnAndTheParentGetsItsAnswers) {
#if DOVETAIL_ADDRESS_SANITIZER || DOVETAIL_THREAD_SANITIZER
  // Found in a debugger: the child waits for a lock of the sanitizer's own allocator, held by a thread that is not there.
  GTEST_SKIP() << "g++ 12's sanitizers do not release the locks of their allocators in the child of a fork";
#endif
  Runtime runtime(options());
  const File file = File::open(faults_ / "file", O_RDONLY, {.direct = Direct::automatic});
  std::vector<std::byte> back;
  faults_.rules("read hold path=file");
  spawn_readers(runtime, file, back);
  faults_.await(2);
  const auto own_work = [&] {
    const File own = File::open(folder_ / "own", O_RDWR | O_CREAT, {.direct = Direct::automatic});
    std::vector<std::byte> again(data_.size());
    own.pwrite(data_, 0);
    own.fdatasync();
    return own.pread(again, 0) == data_.size() && again == data_ ? 42 : 1;
  };
  EXPECT_EQ(status_of_child(own_work), 42);
  runtime.spawn([&] { EXPECT_EQ(status_of_child(own_work), 42); }).get();
  faults_.rules("");
  runtime.wait();
  EXPECT_TRUE(back == data_);
}

// What a program that is started finds open: none of our files, rings and queues.
TEST_P(InFlightTest, AProgramThatAChildStartsInheritsNothing) {
  Runtime runtime(options());
  const File file = File::open(faults_ / "file", O_RDONLY, {.direct = Direct::automatic});
  std::vector<std::byte> back;
  faults_.rules("read hold path=file");
  spawn_readers(runtime, file, back);
  faults_.await(2);
  const std::string list = folder_ / "list";
  EXPECT_EQ(status_of_child([&] {
              const std::string command = "for f in /proc/self/fd/*; do readlink $f; done >" + list + "; exit 43";
              execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
              return 1;
            }),
            43);
  faults_.rules("");
  runtime.wait();
  EXPECT_TRUE(back == data_);
  const std::string open_files = contents(list);
  EXPECT_NE(open_files.find("/list\n"), std::string::npos) << open_files;
  for (const char* word : {"io_uring", "eventfd", "eventpoll", "/file\n"}) {
    EXPECT_EQ(open_files.find(word), std::string::npos) << word << " is open in the program:\n" << open_files;
  }
}

TEST_P(InFlightTest, AProgramThatTakesThePlaceOfThisOneKeepsWhatWasAcknowledged) {
  const auto become = [] {
    execl("/bin/sh", "sh", "-c", "exit 43", nullptr);
    return 1;
  };
  for (const bool from_task : {false, true}) {
    const std::string kept = folder_ / "kept";
    EXPECT_EQ(status_of_child([&] {
                Runtime runtime(options());
                const File file = File::open(faults_ / "file", O_RDONLY, {.direct = Direct::automatic});
                const File own = File::open(kept, O_RDWR | O_CREAT | O_TRUNC, {.direct = Direct::automatic});
                runtime.spawn([&] { own.pwrite(data_, 0); }).get();
                std::vector<std::byte> back;
                // Not held for ever: the system waits for asynchronous requests before it lets the new program begin.
                faults_.rules("read delay=500 path=file");
                spawn_readers(runtime, file, back);
                faults_.await(2);
                return from_task ? runtime.spawn(become).get() : become();
              }),
              43);
    faults_.rules("");
    const std::string text = contents(kept);
    ASSERT_EQ(text.size(), data_.size());
    EXPECT_EQ(std::memcmp(text.data(), data_.data(), data_.size()), 0);
  }
}

// Handlers stay in place when a test is over: a sanitizer may still have a signal to deliver.
std::atomic<std::size_t> signals_seen{0};
void count_signal(int /*signal*/) { signals_seen.fetch_add(1, std::memory_order_relaxed); }

void signal_every_other_thread() {
  DIR* const threads = opendir("/proc/self/task");
  ASSERT_NE(threads, nullptr);
  while (const dirent* entry = readdir(threads)) {
    const int thread = std::atoi(entry->d_name);
    if (thread != 0 && thread != gettid()) {
      syscall(SYS_tgkill, getpid(), thread, SIGUSR1);
    }
  }
  closedir(threads);
}

class SignalTest : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    struct sigaction action{};
    action.sa_handler = count_signal;  // no SA_RESTART: calls are interrupted
    ASSERT_EQ(sigaction(SIGUSR1, &action, nullptr), 0);
  }

  // Transfers of every kind, again and again while signals arrive, until so many have been handled. ThreadSanitizer delivers
  // them late, when a thread calls something that it knows: the tasks go on doing that until it has.
  void transfer_in_a_storm(const std::string& path, Direct direct) {
    const std::size_t wanted = signals_seen.load() + scaled(3000, 60);
    std::atomic<bool> over{false};
    {
      Runtime runtime(options());
      const File file = File::open(path, O_RDWR | O_CREAT, {.direct = direct});
      file.truncate(tasks * block);
      for (std::size_t task = 0; task < tasks; ++task) {
        runtime.spawn([&, task] {
          for (std::size_t turn = 0; turn == 0 || !over.load(); ++turn) {
            transfer(file, task, turn);
          }
        });
      }
      while (signals_seen.load() < wanted) {
        signal_every_other_thread();
        std::this_thread::yield();
      }
      over.store(true);
      runtime.wait();
    }
    std::string told;
    for (const auto& [what, count] : failures_) {
      told += "\n" + std::to_string(count) + " times " + what;
    }
    EXPECT_TRUE(failures_.empty()) << "of " << turns_.load() << " turns failed" << told;
    failures_.clear();
  }

 private:
  static constexpr std::size_t tasks = 6;

  void transfer(const File& file, std::size_t task, std::size_t turn) {
    const std::vector<std::byte> data(block, static_cast<std::byte>(turn * tasks + task));
    std::vector<std::byte> back(block);
    const std::uint64_t offset = task * block;
    turns_.fetch_add(1);
    try {
      switch (turn % 3) {
        case 0:
          file.pwrite(data, offset);
          break;
        case 1:
          file.pwrite_durable(data, offset);
          break;
        default:
          dovetail::spawn([&] { file.ipwrite(data, offset); }).get();
      }
      const std::vector<iovec> parts = {{back.data(), block / 4}, {back.data() + block / 4, block - block / 4}};
      EXPECT_EQ(turn % 2 == 0 ? file.pread(back, offset) : file.preadv(parts, offset), block);
      EXPECT_TRUE(back == data);
    } catch (const TaskFailed& failure) {
      note(io_error_of(failure));
    } catch (const IoError& error) {
      note(error);
    }
  }
  void note(const IoError& error) {
    const std::lock_guard lock(mutex_);
    ++failures_[error.operation() + ": " + strerrorname_np(error.code().value())];
  }

  std::mutex mutex_;
  std::map<std::string, std::size_t> failures_;
  std::atomic<std::size_t> turns_{0};
};

TEST_P(SignalTest, AStormLosesNothingOnADisk) {
  for (const Direct direct : {Direct::automatic, Direct::never}) {
    transfer_in_a_storm(folder_ / "file", direct);
  }
}

TEST_P(SignalTest, AStormLosesNothingWhereCallsCanBeInterrupted) {
  const FaultFolder faults;
  if (!faults.available()) {
    GTEST_SKIP() << "no FUSE here";
  }
  for (const Direct direct : {Direct::automatic, Direct::never}) {
    transfer_in_a_storm(faults / "file", direct);
  }
}

// More than a core copies by itself from the page cache.
constexpr std::size_t large = 256 * 1024;

using SilentDeviceTest = EngineTest;

// One core: if it were kept, nothing else could run.
TEST_P(SilentDeviceTest, OthersRunMeanwhile) {
  const auto held = Held::install();
  Runtime runtime(options(1));
  const File file = File::open(folder_ / "file", O_RDWR | O_CREAT);
  const auto data = random_bytes(large, seed());
  file.pwrite(data, 0);
  std::vector<std::vector<std::byte>> back(16, std::vector<std::byte>(large));
  for (std::size_t i = 0; i < back.size(); ++i) {
    runtime.spawn([&, i] {
      const iovec whole{back[i].data(), large};
      i % 2 == 0 ? file.ipreadv(std::span(&whole, 1), 0) : void(file.preadv(std::span(&whole, 1), 0));
    });
  }
  held->wait_for(1);
  std::size_t ran = 0;
  for (std::size_t i = 0; i < 1000; ++i) {
    runtime.spawn([&] { ran += 1; }).get();
  }
  EXPECT_EQ(ran, 1000U);
  held->release(true);
  runtime.wait();
  for (const auto& each : back) {
    EXPECT_TRUE(each == data);
  }
}

// Memory that goes with the body of a task, and says so.
class Kept {
 public:
  explicit Kept(std::atomic<bool>& gone) : gone_(&gone) {}
  Kept(Kept&& other) noexcept : gone_(std::exchange(other.gone_, nullptr)), bytes_(std::move(other.bytes_)) {}
  Kept& operator=(Kept&&) = delete;
  ~Kept() {
    if (gone_ != nullptr) {
      gone_->store(true);
    }
  }
  std::span<std::byte> span() noexcept { return bytes_; }

 private:
  std::atomic<bool>* gone_;
  std::vector<std::byte> bytes_ = std::vector<std::byte>(large);
};

TEST_P(SilentDeviceTest, ATaskThatFailedKeepsItsMemoryUntilTheDeviceHasAnswered) {
  const auto held = Held::install();
  Runtime runtime(options());
  const File file = File::open(folder_ / "file", O_RDWR | O_CREAT);
  file.pwrite(random_bytes(2 * large, seed()), 0);
  std::atomic<bool> gone{false};
  auto task = runtime.spawn({.label = "fails early"}, [&file, memory = Kept(gone)]() mutable {
    const iovec whole{memory.span().data(), large};
    file.ipreadv(std::span(&whole, 1), 0);
    file.ipreadv(std::span(&whole, 1), large);
    throw std::runtime_error("while its reads are under way");
  });
  held->wait_for(2);
  for (const std::uint64_t offset : {large, std::size_t{0}}) {
    runtime.spawn([] {}).get();
    EXPECT_FALSE(task.ready());
    EXPECT_FALSE(gone.load()) << "the device still writes to it";
    held->end_at(offset, large);
  }
  try {
    task.get();
    FAIL() << "the failure of the body was lost";
  } catch (const TaskFailed& failure) {
    EXPECT_EQ(failure.label(), "fails early");
  }
  EXPECT_TRUE(gone.load());
}

DOVETAIL_FOR_EACH_ENGINE(InFlightTest);
DOVETAIL_FOR_EACH_ENGINE(SignalTest);
DOVETAIL_FOR_EACH_ENGINE(SilentDeviceTest);

}  // namespace
}  // namespace dovetail::test
