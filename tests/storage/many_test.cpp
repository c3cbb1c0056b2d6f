// More requests than any queue of the system takes.
#include <fcntl.h>

#include <filesystem>
#include <fstream>

#include "held.hpp"

namespace dovetail::test {
namespace {

std::size_t threads() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  file >> size >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

using ManyTest = EngineTest;

TEST_P(ManyTest, BoundRequestsAtOnce) {
  Runtime runtime(options());
  const std::size_t count = scaled(100000, 5000);
  const File file = File::open(folder_ / "a", O_RDWR | O_CREAT);
  file.truncate(count * 8);
  std::vector<std::uint64_t> values(count);
  runtime
      .spawn([&] {
        for (std::size_t i = 0; i < count; ++i) {
          values[i] = i * 0x9e3779b97f4a7c15U;
          file.ipwrite(std::span(&values[i], 1), i * 8);
        }
      })
      .get();
  std::vector<std::uint64_t> back(count);
  runtime
      .spawn([&] {
        for (std::size_t i = 0; i < count; ++i) {
          file.ipread(std::span(&back[i], 1), i * 8);
        }
      })
      .get();
  EXPECT_TRUE(back == values);
}

TEST_P(ManyTest, PausedTasksAtOnce) {
  Runtime runtime(options());
  const std::size_t count = scaled(20000, 2000);
  const File file = File::open(folder_ / "a", O_RDWR | O_CREAT, {.direct = Direct::automatic});
  const auto data = random_bytes(4096, seed());
  file.pwrite(data, 0);
  std::atomic<std::size_t> right{0};
  for (std::size_t i = 0; i < count; ++i) {
    runtime.spawn([&] {
      alignas(4096) std::byte back[4096];
      if (file.pread(std::span(back), 0) == sizeof back && std::memcmp(back, data.data(), sizeof back) == 0) {
        right.fetch_add(1);
      }
    });
  }
  runtime.wait();
  EXPECT_EQ(right.load(), count);
}

// Any number of tasks may wait for the device. They need no threads but those of the runtime, and no memory but what their stacks have
// touched. Later tasks use that memory again.
TEST_P(ManyTest, PausedTasksNeedNoThreadsAndTheMemoryOfTheirStacks) {
  const std::size_t threads_before = threads();
  const auto held = Held::install();
  Runtime runtime(options());
  // Larger than what a core copies by itself; shared, since there is nothing to be read into it.
  constexpr std::size_t large = 256 * 1024;
  std::vector<std::byte> memory(large);
  const File source = File::open(folder_ / "a", O_RDWR | O_CREAT);
  const std::size_t count = scaled(10000, 500);
  const std::size_t memory_before = resident_bytes();
  std::size_t memory_of_first = 0;
  for (int round = 0; round < 3; ++round) {
    std::atomic<std::size_t> begun{0};
    std::atomic<std::size_t> ended{0};
    held->hold();
    for (std::size_t i = 0; i < count; ++i) {
      runtime.spawn([&] {
        begun.fetch_add(1);
        source.preadv(std::vector<iovec>{{memory.data(), large}}, 0);
        ended.fetch_add(1);
      });
    }
    while (begun.load() < count) {
      std::this_thread::yield();
    }
    held->wait_for(1);
    EXPECT_EQ(ended.load(), 0U);
    // Nothing runs on an executor while the device holds everything. When it lets go, threads take their part, and stay a while;
    // one that has just gone is still counted by the kernel for a moment. More than these for good is a hang.
    const std::size_t of_the_runtime = runtime.workers() + 1;  // and the one that keeps time
    const std::size_t most = threads_before + of_the_runtime + (round == 0 ? 0 : runtime.options().io_executors);
    while (threads() > most) {
      std::this_thread::yield();
    }
    const std::size_t resident = resident_bytes();
    const std::size_t grown = resident - std::min(resident, memory_before);
    if (std::getenv("DOVETAIL_SANITIZE") == nullptr) {
      memory_of_first = round == 0 ? grown : memory_of_first;
      // Two pages of stack, and what is kept of a task and of its request. A stack has 1 MiB.
      EXPECT_LE(grown / count, 16U * 1024) << "bytes a paused task, in round " << round;
      // What threads that come and go keep makes a part of it; stacks that are not used again would double it.
      EXPECT_LE(grown, memory_of_first + memory_of_first / 2) << "stacks are not used again, in round " << round;
    }
    held->release(true, -EINTR);
    runtime.wait();
    EXPECT_EQ(ended.load(), count);
  }
}

// More unaligned transfers than there are buffers for them.
TEST_P(ManyTest, UnalignedTransfersAtOnce) {
  Runtime runtime(options());
  const std::size_t count = scaled(2000, 200);
  const File file = File::open(folder_ / "a", O_RDWR | O_CREAT, {.direct = Direct::automatic});
  const auto data = random_bytes(8192 * count + 1, seed());
  std::vector<std::byte> back(data.size());
  const auto part = [&](auto& bytes, std::size_t i) { return std::span(bytes).subspan(1 + i * 8192, 8192); };
  runtime
      .spawn([&] {
        for (std::size_t i = 0; i < count; ++i) {
          file.ipwrite(part(data, i), i * 8192);
        }
      })
      .get();
  runtime
      .spawn([&] {
        for (std::size_t i = 0; i < count; ++i) {
          file.ipread(part(back, i), i * 8192);
        }
      })
      .get();
  EXPECT_TRUE(std::equal(data.begin() + 1, data.end(), back.begin() + 1));
}

// A worker that computes must not keep what it has started from being delivered by the idle one.
TEST_P(ManyTest, ABusyWorkerDoesNotHoldUpWhatItStarted) {
  Runtime runtime(options(2));
  const File file = File::open(folder_ / "a", O_RDWR | O_CREAT, {.direct = Direct::automatic});
  const auto data = random_bytes(1 << 20, seed());
  file.pwrite(data, 0);
  for (std::size_t round = 0; round < scaled(200, 30); ++round) {
    std::vector<std::byte> back(data.size());
    std::atomic<bool> delivered{false};
    runtime.spawn([&] {
      dovetail::spawn([&] {
        file.pread(back, 0);
        delivered.store(true);
      });
      // Often runs on the worker that has started the read, and leaves it only when the read has been delivered.
      dovetail::spawn([&] {
        while (!delivered.load()) {
        }
      });
    });
    runtime.wait();
    ASSERT_TRUE(back == data);
  }
}

DOVETAIL_FOR_EACH_ENGINE(ManyTest);

}  // namespace
}  // namespace dovetail::test
