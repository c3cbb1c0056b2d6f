// A descriptor of the program that is closed, and its number given to another file, while requests wait for their turn.
#include <fcntl.h>

#include "device/device.hpp"
#include "held.hpp"

namespace dovetail::test {
namespace {

TEST(ReusedDescriptorTest, WhatWaitedFailsAndTheOtherFileGetsNoByte) {
  Folder folder;
  const auto held = Held::install();
  Runtime runtime(Options{.workers = 2, .engine = "threads"});
  const int descriptor = open((folder / "a").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(descriptor, 0);
  const std::size_t depth = 64;  // of a lane whose engine was forced
  const std::size_t more = 50;
  const std::vector<std::byte> data = random_bytes(512, seed());
  std::atomic<unsigned> written{0};
  std::atomic<unsigned> refused{0};
  std::atomic<unsigned> begun{0};
  for (std::size_t i = 0; i < depth + more; ++i) {
    runtime.spawn([&, i] {
      const File file = File::from_descriptor(descriptor);
      ++begun;
      try {
        file.pwrite(data, i * data.size());
        ++written;
      } catch (const IoError& error) {
        EXPECT_EQ(error.code().value(), EBADF) << error.what();
        ++refused;
      }
    });
  }
  held->wait_for(depth);
  while (begun.load() < depth + more) {
    std::this_thread::yield();
  }
  // All but the held ones wait in the lane, or are about to.
  auto* const service = storage::StorageService::of(runtime.core());
  while (service->in_flight() < depth + more) {
    std::this_thread::yield();
  }
  // What is held performs its system call when it is released: it is the caller's duty to keep the descriptor for that long.
  const int kept = dup(descriptor);
  const int other = open((folder / "b").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_EQ(dup2(other, descriptor), descriptor);
  held->release(true, static_cast<std::int64_t>(data.size()));
  runtime.wait();
  EXPECT_EQ(written.load(), depth);
  EXPECT_EQ(refused.load(), more);
  EXPECT_EQ(lseek(other, 0, SEEK_END), 0);
  close(descriptor);
  close(kept);
  close(other);
}

}  // namespace
}  // namespace dovetail::test
