// An advisor beside the programs: what it brings, and what it leaves alone.
#include "prefetch/advisor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <thread>

#include "base/sanitizer.hpp"
#include "prefetch/advice_memory.hpp"
#include "prefetch/cold_file.hpp"

namespace dovetail::prefetching {
namespace {

constexpr std::uint64_t mebibyte = 1U << 20;

class AdvisorTest : public testing::Test {
 protected:
  // What the library in a program does at the first look at a descriptor.
  AdvisedFile& look_at(int descriptor, int held_as) {
    struct stat status{};
    EXPECT_EQ(fstat(descriptor, &status), 0);
    bool made = false;
    const std::uint32_t number = table_.find(
        {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
         static_cast<std::uint64_t>(status.st_mtim.tv_sec), static_cast<std::uint64_t>(status.st_mtim.tv_nsec)},
        0, made);
    EXPECT_LT(number, table_.files());
    AdvisedFile& file = table_.file(number);
    file.holder = static_cast<std::uint64_t>(getpid()) << 32 | static_cast<std::uint32_t>(held_as);
    return file;
  }
  void read(AdvisedFile& file, std::uint64_t offset) {
    const std::uint64_t size = file.size;
    file.blocks.note({offset, offset + 10}, 1, {0, size}, table_.sizes(0, size));
    tell(file);
  }
  void tell(AdvisedFile& file) {
    table_.tell(static_cast<std::uint32_t>(&file - &table_.file(0)),
                [](std::atomic<std::uint32_t>& word) { syscall(SYS_futex, &word, FUTEX_WAKE, 1); });
  }
  // Until the advisor has dealt with what it was told before.
  void await_work(AdvisedFile& file) {
    while (file.blocks.has_work()) {
      std::this_thread::yield();
    }
  }
  static base::Descriptor open(const test::ColdFile& cold) {
    return base::Descriptor(::open(cold.path().c_str(), O_RDONLY | O_CLOEXEC));
  }

  AdviceMemory memory_{{{.pattern = "/**", .process = {}, .parts = {{{0, far_end}, AdviceKind::will_need}}}}};
  AdviceTable table_ = memory_.table();
  static std::uint64_t seconds() { return clock_; }

  static inline std::atomic<std::uint64_t> clock_{1000};
  Advisor advisor_{table_, seconds};
  test::ColdFile cold_{24 * mebibyte};
};

/// The advisor in a thread of its own.
class Running {
 public:
  Running(Advisor& advisor, AdviceTable& table) : advisor_(advisor), thread_([&advisor] { advisor.run(); }) {
    while (!table.is_served()) {
      std::this_thread::yield();
    }
  }
  ~Running() { stop(); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  void stop() {
    if (thread_.joinable()) {
      advisor_.stop();
      thread_.join();
    }
  }

 private:
  Advisor& advisor_;
  std::thread thread_;
};

TEST_F(AdvisorTest, BringsTheBlocksThatAProgramWants) {
  const base::Descriptor descriptor = open(cold_);
  AdvisedFile& file = look_at(descriptor.get(), descriptor.get());
  Running running(advisor_, table_);
  read(file, 3 * mebibyte);
  cold_.await(3 * mebibyte, 4 * mebibyte);
  running.stop();
  EXPECT_EQ(cold_.cached(0, 3 * mebibyte) + cold_.cached(7 * mebibyte, 17 * mebibyte), 0U) << "and no others";
  cold_.expect_cached(4 * mebibyte);
  EXPECT_EQ(file.asked, 4 * mebibyte);
  EXPECT_EQ(advisor_.open_files(), 1U);
  EXPECT_FALSE(table_.is_served()) << "programs give their advice themselves again";
}

TEST_F(AdvisorTest, ReleasesTheLeastRecentlyUsedOfWhatItBrought) {
  const base::Descriptor descriptor = open(cold_);
  AdvisedFile& file = look_at(descriptor.get(), descriptor.get());
  char byte = 0;
  EXPECT_EQ(::pread(descriptor.get(), &byte, 1, mebibyte), 1);  // what others have read stays
  const std::size_t others = cold_.cached(mebibyte, mebibyte);
  ASSERT_GT(others, 0U);
  Running running(advisor_, table_);
  for (std::uint64_t number = 0; number < 13; ++number) {
    read(file, number * mebibyte);
    cold_.await(number * mebibyte, 4 * mebibyte);
    await_work(file);
  }
  // One that is told to stop counts nothing more, also what it has just released.
  while (file.blocks.counts().released < 7 * mebibyte) {
    std::this_thread::yield();
  }
  running.stop();
  EXPECT_EQ(cold_.cached(0, mebibyte), 0U);
  EXPECT_EQ(cold_.cached(2 * mebibyte, 6 * mebibyte), 0U);
  EXPECT_EQ(file.blocks.counts().released, 7 * mebibyte) << "and no others";
  if (test::pages_stay()) {
    EXPECT_EQ(cold_.cached(mebibyte, mebibyte), mebibyte);
    EXPECT_EQ(cold_.cached(8 * mebibyte, 8 * mebibyte), 8 * mebibyte);
  }
}

TEST_F(AdvisorTest, WhatIsInMemoryIsLeftAlone) {
  const base::Descriptor descriptor = open(cold_);
  const test::KeptInMemory kept(cold_.path(), cold_.content().size());
  if (!kept.is_kept()) {
    GTEST_SKIP() << "this process may not keep so much in memory";
  }
  AdvisedFile& file = look_at(descriptor.get(), descriptor.get());
  const Running running(advisor_, table_);
  read(file, 0);
  while (file.given_up == not_given_up) {
    std::this_thread::yield();
  }
  EXPECT_EQ(file.given_up, all_is_cached);
  EXPECT_EQ(file.asked, 0U);
  await_work(file);  // nothing is left that programs would have to tell again
}

TEST_F(AdvisorTest, WhatWasKnownIsForgottenWithTheLastProgram) {
  const base::Descriptor descriptor = open(cold_);
  AdvisedFile& file = look_at(descriptor.get(), descriptor.get());
  const Running running(advisor_, table_);
  read(file, 0);
  cold_.await(0, 4 * mebibyte);
  file.given_up = cannot_be_opened;
  advisor_.forget();
  while (file.given_up != not_given_up || advisor_.open_files() != 0) {
    std::this_thread::yield();
  }
  cold_.forget();
  read(file, 0);
  cold_.await(0, 4 * mebibyte);
}

TEST_F(AdvisorTest, AFileThatHasNoWorkIsClosedHoweverBusyItIs) {
  const test::ColdFile other(24 * mebibyte, 2);
  const base::Descriptor idle = open(cold_);
  const base::Descriptor busy = open(other);
  AdvisedFile& idle_file = look_at(idle.get(), idle.get());
  AdvisedFile& busy_file = look_at(busy.get(), busy.get());
  const Running running(advisor_, table_);
  read(idle_file, 0);
  read(busy_file, 0);
  await_work(idle_file);
  await_work(busy_file);
  EXPECT_EQ(advisor_.open_files(), 2U);
  for (std::uint64_t step = 0; advisor_.open_files() != 1; ++step) {
    clock_ += 1;
    read(busy_file, step % 24 * mebibyte);
    await_work(busy_file);
  }
}

TEST_F(AdvisorTest, OpensNothingButTheFileOfTheTable) {
  const test::ColdFile other(mebibyte);
  const base::Descriptor wanted = open(cold_);
  const base::Descriptor another = open(other);
  const test::Folder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const base::Descriptor fifo(::open(pipe.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  const base::Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  Running running(advisor_, table_);
  // Other blocks each time, or nothing would be wanted.
  std::uint64_t offset = 0;
  for (const int held_as : {another.get(), fifo.get(), null.get(), 65000, -1}) {
    AdvisedFile& file = look_at(wanted.get(), held_as);
    read(file, offset);
    await_work(file);
    EXPECT_EQ(file.asked, 0U) << held_as;
    EXPECT_EQ(advisor_.open_files(), 0U) << held_as;
    offset += 4 * mebibyte;
  }
  AdvisedFile& file = look_at(wanted.get(), wanted.get());
  read(file, offset);
  cold_.await(offset, mebibyte);
  running.stop();
  EXPECT_EQ(advisor_.open_files(), 1U);
}

TEST_F(AdvisorTest, AFileThatWasReplacedIsOpenedAnew) {
  const Running running(advisor_, table_);
  base::Descriptor descriptor = open(cold_);
  AdvisedFile& first = look_at(descriptor.get(), descriptor.get());
  read(first, 0);
  cold_.await(0, 4 * mebibyte);
  const test::ColdFile other(16 * mebibyte, 2);
  std::filesystem::rename(other.path(), cold_.path());
  descriptor = open(cold_);
  AdvisedFile& second = look_at(descriptor.get(), descriptor.get());
  EXPECT_NE(&first, &second);
  read(second, 5 * mebibyte);
  cold_.await(5 * mebibyte, 4 * mebibyte);
}

TEST_F(AdvisorTest, WhateverIsToldItGoesOn) {
#if DOVETAIL_THREAD_SANITIZER
  GTEST_SKIP() << "another process may write at any time, which within one process is a race";
#endif
  std::mt19937_64 random(test::seed());
  const base::Descriptor descriptor = open(cold_);
  AdvisedFile& file = look_at(descriptor.get(), descriptor.get());
  {
    const Running running(advisor_, table_);
    // Not the rules and the file that is used below.
    std::byte* table = reinterpret_cast<std::byte*>(&table_.file(0));
    for (int round = 0; round < 2000; ++round) {
      const std::size_t number = random() % AdviceMemory::files;
      if (&table_.file(static_cast<std::uint32_t>(number)) == &file) {
        continue;
      }
      std::atomic_ref<std::uint32_t> word(
          reinterpret_cast<std::uint32_t*>(table + number * sizeof(AdvisedFile))[random() % 2048]);
      const auto any = static_cast<std::uint32_t>(random());
      word.store(random() % 2 == 0 ? any % 4 : any, std::memory_order_relaxed);
      table_.tell(static_cast<std::uint32_t>(random() % 8), [](std::atomic<std::uint32_t>&) {});
    }
    read(file, 3 * mebibyte);
    cold_.await(3 * mebibyte, mebibyte);
  }
}

}  // namespace
}  // namespace dovetail::prefetching
