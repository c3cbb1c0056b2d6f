// A descriptor of the program that is closed, and its number given to another file, while requests wait for their turn.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "device/device.hpp"
#include "held.hpp"

namespace dovetail::test {
namespace {

constexpr std::size_t depth = 64;  // of a lane whose engine was forced
constexpr std::size_t more = 50;
constexpr std::size_t part = 512;

struct Answers {
  std::atomic<unsigned> written{0};
  std::atomic<unsigned> refused{0};
};

// Writes the parts of the data to the descriptor, more of them than its lane takes at a time. `meanwhile` is called while the first are held
// and the others wait. The held ones then end with this result; 0: they are performed.
template <class Meanwhile>
void write_through_a_full_lane(int descriptor, const std::vector<std::byte>& data, Answers& answers,
                               Meanwhile&& meanwhile, std::int64_t result_of_held) {
  const auto held = Held::install();
  Runtime runtime(Options{.workers = 2, .engine = "threads"});
  std::atomic<unsigned> begun{0};
  for (std::size_t i = 0; i < depth + more; ++i) {
    runtime.spawn([&, i] {
      const File file = File::from_descriptor(descriptor);
      ++begun;
      try {
        file.pwrite(std::span(data).subspan(i * part, part), i * part);
        ++answers.written;
      } catch (const IoError& error) {
        EXPECT_EQ(error.code().value(), EBADF) << error.what();
        ++answers.refused;
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
  meanwhile();
  held->release(true, result_of_held);
  runtime.wait();
}

TEST(ReusedDescriptorTest, WhatWaitedFailsAndTheOtherFileGetsNoByte) {
  Folder folder;
  const int descriptor = open((folder / "a").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(descriptor, 0);
  // What is held performs its system call when it is released: it is the caller's duty to keep the descriptor for that long.
  const int kept = dup(descriptor);
  const int other = open((folder / "b").c_str(), O_RDWR | O_CREAT, 0600);
  Answers answers;
  write_through_a_full_lane(
      descriptor, random_bytes((depth + more) * part, seed()), answers,
      [&] { ASSERT_EQ(dup2(other, descriptor), descriptor); }, std::int64_t{part});
  EXPECT_EQ(answers.written.load(), depth);
  EXPECT_EQ(answers.refused.load(), more);
  EXPECT_EQ(lseek(other, 0, SEEK_END), 0);
  close(descriptor);
  close(kept);
  close(other);
}

TEST(ReusedDescriptorTest, WhatWaitedIsWrittenWhereItStillLeadsToTheFile) {
  Folder folder;
  const int descriptor = open((folder / "a").c_str(), O_RDWR | O_CREAT, 0600);
  ASSERT_GE(descriptor, 0);
  const auto data = random_bytes((depth + more) * part, seed());
  Answers answers;
  write_through_a_full_lane(descriptor, data, answers, [] {}, 0);
  EXPECT_EQ(answers.written.load(), depth + more);
  EXPECT_EQ(answers.refused.load(), 0U);
  std::vector<std::byte> stored(data.size() + 1);
  EXPECT_EQ(::pread(descriptor, stored.data(), stored.size(), 0), static_cast<ssize_t>(data.size()));
  EXPECT_TRUE(std::equal(data.begin(), data.end(), stored.begin()));
  close(descriptor);
}

}  // namespace
}  // namespace dovetail::test
