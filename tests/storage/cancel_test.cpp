// Tasks that are cancelled while they wait for storage, and devices that do not answer for long.
#include <fcntl.h>

#include <fstream>
#include <thread>

#include "held.hpp"

namespace dovetail::test {
namespace {

class CancelTest : public EngineTest {
 protected:
  // A file that is not in memory and not inline: transfers are larger than what a core copies by itself.
  static constexpr std::size_t large = 256 * 1024;
  File file() { return File::open(folder_ / "a", O_RDWR | O_CREAT); }
};

// Returns when so many operations are under way: what begins after its task was cancelled is not concerned.
void wait_for_operations(Runtime& runtime, std::size_t count) {
  while (storage::StorageService::of(runtime.core())->in_flight() < count) {
    std::this_thread::yield();
  }
}

bool was_cancelled(const Future<void>& task) {
  try {
    task.get();
    return false;
  } catch (const TaskFailed& failure) {
    return failure.cancelled();
  }
}

// More than the device is given at once: the others wait in its queue, where they are given up without the device.
TEST_P(CancelTest, WhatWaitsInAQueueEndsAtOnce) {
  const auto held = Held::install();
  Runtime runtime(options());
  const File source = file();
  source.truncate(large);
  const std::size_t count = 300;
  std::vector<std::vector<std::byte>> memory(count, std::vector<std::byte>(large));
  std::vector<Future<void>> tasks;
  for (std::size_t i = 0; i < count; ++i) {
    tasks.push_back(runtime.spawn([&, i] {
      if (i % 2 == 0) {
        source.pread(memory[i], 0);
      } else {
        source.ipread(memory[i], 0);
      }
    }));
  }
  wait_for_operations(runtime, count);
  for (const auto& task : tasks) {
    task.cancel();
  }
  // All but those that the device holds: they own their memory until it answers.
  const auto ended = [&] {
    return static_cast<std::size_t>(
        std::count_if(tasks.begin(), tasks.end(), [](const auto& task) { return task.ready(); }));
  };
  while (ended() + held->count() < count) {
    std::this_thread::yield();
  }
  EXPECT_LT(held->count(), count);
  EXPECT_GT(held->count(), 0U);
  held->release(true, -EINTR);  // not performed: there is no further attempt
  for (const auto& task : tasks) {
    EXPECT_TRUE(was_cancelled(task));
  }
}

TEST_P(CancelTest, ARuntimeThatIsCancelledGivesUpItsRequests) {
  const auto held = Held::install();
  Runtime runtime(options());
  const File source = file();
  source.truncate(large);
  std::vector<std::vector<std::byte>> memory(100, std::vector<std::byte>(large));
  for (auto& place : memory) {
    runtime.spawn([&] { source.pread(place, 0); });
  }
  held->wait_for(1);
  runtime.cancel();
  held->release(true, -EINTR);
  runtime.wait();
  // What comes afterwards is not concerned.
  auto later = runtime.spawn([&] { EXPECT_EQ(source.pread(memory[0], 0), large); });
  EXPECT_NO_THROW(later.get());
}

TEST_P(CancelTest, ATaskThatWasCancelledMayStillTidyUp) {
  Runtime runtime(options());
  const File target = file();
  std::atomic<bool> running{false};
  auto task = runtime.spawn([&] {
    running.store(true);
    while (!this_task::cancelled()) {
      this_task::yield();
    }
    EXPECT_EQ(target.pwrite(std::vector<std::byte>(large), 0), large);
  });
  while (!running.load()) {
    std::this_thread::yield();
  }
  task.cancel();
  EXPECT_NO_THROW(task.get());
  EXPECT_EQ(target.size(), large);
}

// The memory of a bound read is the task's until the device has answered, whatever becomes of the body.
TEST_P(CancelTest, ATaskThatFailsCompletesAfterItsRequests) {
  const auto held = Held::install();
  Runtime runtime(options());
  const File source = file();
  source.truncate(large);
  auto memory = std::make_unique<std::vector<std::byte>>(large);
  auto task = runtime.spawn([&] {
    source.ipread(*memory, 0);
    throw std::runtime_error("the body fails while its read is under way");
  });
  held->wait_for(1);
  runtime.spawn([] {}).get();
  EXPECT_FALSE(task.ready());
  held->release(true);
  EXPECT_THROW(task.get(), TaskFailed);
  memory.reset();
}

TEST_P(CancelTest, AHundredThousandRequestsAtOnce) {
  const auto held = Held::install();
  Runtime runtime(options());
  const File source = file();
  const std::size_t count = scaled(100000, 5000);
  std::vector<std::size_t> moved(count, 1);
  std::vector<std::byte> memory(large);  // shared: there is nothing to be read into it
  std::atomic<bool> bound{false};
  runtime.spawn([&] {
    for (std::size_t i = 0; i < count; ++i) {
      source.ipread(memory, 0, &moved[i]);
    }
    bound.store(true);
  });
  while (!bound.load()) {
    std::this_thread::yield();
  }
  held->release(true);
  runtime.wait();
  EXPECT_EQ(std::count(moved.begin(), moved.end(), std::size_t{0}), static_cast<std::ptrdiff_t>(count));
}

DOVETAIL_FOR_EACH_ENGINE(CancelTest);

// Requests that the kernel itself can give up: here, reads of pipes that no process writes to.
class CancelInKernel : public testing::Test {
 protected:
  void SetUp() override {
    if (!ring_available()) {
      GTEST_SKIP() << "no io_uring here";
    }
    ASSERT_EQ(pipe2(ends_, O_CLOEXEC), 0);
  }
  void TearDown() override {
    storage::Ring::allowed = {};
    close(ends_[0]);
    close(ends_[1]);
  }
  static constexpr std::size_t large = 256 * 1024;
  int ends_[2] = {-1, -1};
};

TEST_F(CancelInKernel, APausedReadEndsAndItsNeighboursGoOn) {
  Runtime runtime(Options{.workers = 2, .engine = "uring"});
  int others[2];
  ASSERT_EQ(pipe2(others, O_CLOEXEC), 0);
  const auto read = [&](int descriptor) {
    std::vector<std::byte> memory(large);
    return dovetail::pread(descriptor, memory, 0);
  };
  auto doomed = runtime.spawn([&] { read(ends_[0]); });
  auto spared = runtime.spawn([&] { EXPECT_EQ(read(others[0]), 1U); });
  wait_for_operations(runtime, 2);
  doomed.cancel();
  EXPECT_TRUE(was_cancelled(doomed));
  EXPECT_FALSE(spared.ready());
  ASSERT_EQ(::write(others[1], "x", 1), 1);
  close(others[1]);  // the end of the file: the read is not continued
  spared.get();
  close(others[0]);
}

// An old kernel: the task ends as cancelled when the device answers.
TEST_F(CancelInKernel, WhereTheKernelCannotTheAnswerIsWaitedFor) {
  storage::Ring::allowed.cancel = false;
  Runtime runtime(Options{.workers = 2, .engine = "uring"});
  auto task = runtime.spawn([&] {
    std::vector<std::byte> memory(large);
    dovetail::pread(ends_[0], memory, 0);
  });
  wait_for_operations(runtime, 1);
  task.cancel();
  runtime.spawn([] {}).get();
  EXPECT_FALSE(task.ready());
  ASSERT_EQ(::write(ends_[1], "x", 1), 1);
  EXPECT_TRUE(was_cancelled(task));  // the rest of it is not begun
}

}  // namespace
}  // namespace dovetail::test
