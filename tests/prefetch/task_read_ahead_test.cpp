// What tasks declare is in the page cache before they begin, within the window, and not before it is written.
#include "prefetch/task_read_ahead.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <optional>
#include <random>
#include <stdexcept>
#include <thread>

#include "dovetail/dovetail.hpp"
#include "prefetch/cold_file.hpp"
#include "prefetch/inside_counts.hpp"
#include "prefetch/page_cache.hpp"
#include "tasking/core.hpp"

namespace dovetail::prefetching {
namespace {

constexpr std::size_t kibibyte = std::size_t{1} << 10;
constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t block = 256 * kibibyte;

class TaskReadAheadTest : public testing::Test {
 protected:
  void SetUp() override { runtime_.emplace(Options{.workers = 2}); }
  const TaskReadAhead& ahead() { return dynamic_cast<const TaskReadAhead&>(*runtime_->core().observer); }
  void await_rest() {
    while (ahead().reading()) {
      std::this_thread::yield();
    }
  }
  // A task with that output which ends when the semaphore says so.
  void hold(Semaphore& until, const int& output) {
    runtime_->spawn({.label = "held", .access = {out(output)}}, [&until] { until.acquire(); });
  }

  test::Variable tasks_{"DOVETAIL_PREFETCH_TASKS", "1"};
  test::Variable window_{"DOVETAIL_PREFETCH_WINDOW_MB", "1"};
  test::Variable gap_{"DOVETAIL_PREFETCH_GAP_KB", "0"};
  test::ColdFile cold_{4 * mebibyte};
  File file_ = File::open(cold_.path(), O_RDWR);
  std::optional<Runtime> runtime_;
  Semaphore gate_{0};
  int computed_ = 0;
};

TEST_F(TaskReadAheadTest, TheBytesAreThereBeforeTheTaskBegins) {
  hold(gate_, computed_);
  std::atomic<bool> begun = false;
  std::vector<std::byte> read(block);
  runtime_->spawn({.access = {in(computed_), in(file_, mebibyte, block)}}, [&] {
    begun = true;
    file_.pread(read, mebibyte);
  });
  cold_.await(mebibyte, block);
  EXPECT_FALSE(begun);
  await_rest();
  cold_.expect_cached(block);
  gate_.release();
  runtime_->wait();
  EXPECT_TRUE(std::equal(read.begin(), read.end(), cold_.content().begin() + mebibyte));
  EXPECT_EQ(ahead().ahead(), 0U);
}

TEST_F(TaskReadAheadTest, WhatWasReadAheadIsCounted) {
  WayCounts& counts = counts_of(Way::tasks);
  const std::uint64_t asked = counts.asked;
  const std::uint64_t unread = counts.unread;
  const std::uint64_t reads = counts.reads.reads;
  const std::uint64_t waited = counts.reads.waited;
  hold(gate_, computed_);
  runtime_->spawn({.access = {in(computed_), in(file_, 0, block)}}, [] {});
  runtime_->spawn({.access = {in(computed_), in(file_, mebibyte, block)}}, [] {});
  cold_.await({{0, block}, {mebibyte, block}});
  await_rest();
  EXPECT_EQ(counts.asked, asked + 2 * block);
  EXPECT_EQ(counts.unread, unread + 2 * block);
  EXPECT_EQ(counts.reads.reads, reads);
  const test::KeptInMemory kept(cold_.path(), block);
  posix_fadvise(file_.descriptor(), mebibyte, block, POSIX_FADV_DONTNEED);
  gate_.release();
  runtime_->wait();
  EXPECT_EQ(counts.unread, unread);
  EXPECT_EQ(counts.reads.reads, reads + 2);
  if (kept.is_kept()) {
    EXPECT_EQ(counts.reads.waited, waited + 1) << "of one the end was not there any more";
  }
}

TEST_F(TaskReadAheadTest, NoMoreThanTheWindowIsReadAheadAndTasksThatBeginMakeRoom) {
  hold(gate_, computed_);
  Semaphore second(0);
  int other = 0;
  hold(second, other);
  for (std::size_t i = 0; i < 8; ++i) {
    // Spawned from the end of the file to its beginning: the order is that of the spawns.
    runtime_->spawn({.access = {in(i < 2 ? computed_ : other), in(file_, (15 - i) * block, block)}}, [] {});
  }
  cold_.await(12 * block, 4 * block);
  await_rest();
  EXPECT_EQ(cold_.cached(0, 12 * block), 0U);
  EXPECT_EQ(ahead().ahead(), 4 * block);
  gate_.release();
  cold_.await(10 * block, 2 * block);
  await_rest();
  EXPECT_EQ(cold_.cached(0, 10 * block), 0U);
  second.release();
  runtime_->wait();
  EXPECT_EQ(ahead().ahead(), 0U);
}

TEST_F(TaskReadAheadTest, WhatAPendingTaskWritesIsNotReadBeforeItHasCompleted) {
  hold(gate_, computed_);
  Semaphore second(0);
  int other = 0;
  hold(second, other);
  runtime_->spawn({.access = {in(computed_), out(file_, block / 2, block)}}, [] {});
  runtime_->spawn({.access = {in(other), in(file_, 0, block)}}, [] {});
  runtime_->spawn({.access = {in(other), in(file_, 4 * block, block)}}, [] {});
  cold_.await(4 * block, block);
  await_rest();
  EXPECT_EQ(cold_.cached(0, 4 * block), 0U);
  gate_.release();
  cold_.await(0, block);
  second.release();
  runtime_->wait();
}

TEST_F(TaskReadAheadTest, TasksThatNeverRunMakeRoomToo) {
  runtime_->spawn({.label = "failing", .access = {out(computed_)}}, [&] {
    gate_.acquire();
    throw std::runtime_error("on purpose");
  });
  for (std::size_t i = 0; i < 16; ++i) {
    runtime_->spawn({.access = {in(computed_), in(file_, i * block, block)}}, [] {});
  }
  cold_.await(0, mebibyte);
  gate_.release();
  EXPECT_THROW(runtime_->wait(), TaskFailed);
  EXPECT_EQ(ahead().ahead(), 0U);
}

TEST_F(TaskReadAheadTest, WhatDoesNotFitTheWindowIsLeftToItselfAndKeepsNothingBack) {
  hold(gate_, computed_);
  runtime_->spawn({.access = {in(computed_), in(file_, 0, 2 * mebibyte)}}, [] {});
  runtime_->spawn({.access = {in(computed_), in(file_, 3 * mebibyte, block)}}, [] {});
  cold_.await(3 * mebibyte, block);
  await_rest();
  EXPECT_EQ(cold_.cached(0, 3 * mebibyte), 0U);
  gate_.release();
  runtime_->wait();
}

TEST_F(TaskReadAheadTest, ARegionThatIsLongerThanTheFileEndsWithIt) {
  const test::ColdFile little(block);
  const File file = File::open(little.path(), O_RDONLY);
  hold(gate_, computed_);
  runtime_->spawn({.access = {in(computed_), in(file, 0, std::uint64_t{1} << 60)}}, [] {});
  little.await(0, block);
  EXPECT_EQ(ahead().ahead(), block);
  gate_.release();
  runtime_->wait();
}

// Whether the observer notes a task that reads the beginning of the file.
bool notes_a_reader(Runtime& runtime, const File& file) {
  return runtime.core().observer->spawned({in(file, 0, block)}) != nullptr;
}

TEST_F(TaskReadAheadTest, TasksThatFindAllThereAreNotNoted) {
  EXPECT_TRUE(notes_a_reader(*runtime_, file_));
  const test::KeptInMemory kept(cold_.path(), 4 * mebibyte);
  if (!kept.is_kept()) {
    GTEST_SKIP() << "this process may not keep so much in memory";
  }
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(notes_a_reader(*runtime_, file_)) << i;
  }
}

TEST_F(TaskReadAheadTest, ARestIsOverWithTheFirstTaskThatMissesSomething) {
  {
    const test::KeptInMemory kept(cold_.path(), 4 * mebibyte);
    if (!kept.is_kept()) {
      GTEST_SKIP() << "this process may not keep so much in memory";
    }
    for (int i = 0; i < 1000; ++i) {
      EXPECT_FALSE(notes_a_reader(*runtime_, file_)) << i;
    }
  }
  cold_.forget();
  while (!notes_a_reader(*runtime_, file_)) {
  }
  EXPECT_NE(runtime_->core().observer->spawned({in(file_, 2 * mebibyte, block)}), nullptr);
}

// The kernel tells which pages are in memory only to users who own the file or may write it.
TEST_F(TaskReadAheadTest, AFileOfWhichTheKernelSaysNothingIsLeftToItself) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "it takes another user";
  }
  unsetenv("DOVETAIL_PREFETCH_TASKS");
  runtime_.emplace(Options{.workers = 1});
  chmod(cold_.path().c_str(), 0644);
  const File file = File::open(cold_.path(), O_RDONLY);
  EXPECT_TRUE(notes_a_reader(*runtime_, file));
  cold_.forget();
  bool is_told = true;
  std::thread other([&] {
    constexpr uid_t nobody = 65534;
    // This thread alone: the C library would change them all.
    is_told = syscall(SYS_setresuid, nobody, nobody, nobody) != 0 ||
              cached_pages(file.descriptor(), {0, block}, syscall) >= 0;
    if (!is_told) {
      EXPECT_FALSE(notes_a_reader(*runtime_, file));
    }
  });
  other.join();
  if (is_told) {
    GTEST_SKIP() << "this kernel says it to everybody";
  }
}

TEST_F(TaskReadAheadTest, OfAFileThatIsHalfThereTheOtherHalfIsNoted) {
  const test::KeptInMemory kept(cold_.path(), 2 * mebibyte);
  if (!kept.is_kept()) {
    GTEST_SKIP() << "this process may not keep so much in memory";
  }
  const auto notes = [&](std::size_t offset) {
    // What keeping the first half brings of the other, and what was noted, may still be on its way.
    while (offset >= 2 * mebibyte && cached_pages(file_.descriptor(), {offset, offset + 64 * kibibyte}, syscall) > 0) {
      posix_fadvise(file_.descriptor(), 2 * mebibyte, 2 * mebibyte, POSIX_FADV_DONTNEED);
    }
    return runtime_->core().observer->spawned({in(file_, offset, 64 * kibibyte)}) != nullptr;
  };
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_FALSE(notes(i % 32 * 64 * kibibyte)) << i;
  }
  int noted = 0;
  for (std::size_t i = 0; i < 32; ++i) {
    noted += notes(2 * mebibyte + i * 64 * kibibyte) ? 1 : 0;
  }
  EXPECT_GE(noted, 24) << "of eight the first that is looked at";
}

TEST_F(TaskReadAheadTest, WhatIsThereIsSeenUpToTheEndOfTheFile) {
  const test::ColdFile short_one(10'000);
  const test::KeptInMemory kept(short_one.path(), 10'000);
  if (!kept.is_kept()) {
    GTEST_SKIP() << "this process may not keep so much in memory";
  }
  EXPECT_FALSE(notes_a_reader(*runtime_, File::open(short_one.path(), O_RDONLY)));
}

TEST_F(TaskReadAheadTest, TasksOfNewFilesAreNotNotedWhereAllWereThereSoFar) {
  constexpr std::size_t bytes = 8 * kibibyte;
  std::vector<std::unique_ptr<test::ColdFile>> made;
  std::vector<std::unique_ptr<test::KeptInMemory>> kept;
  std::vector<File> files;
  for (std::uint64_t i = 0; i < 16; ++i) {
    made.push_back(std::make_unique<test::ColdFile>(bytes, i));
    kept.push_back(std::make_unique<test::KeptInMemory>(made.back()->path(), bytes));
    files.push_back(File::open(made.back()->path(), O_RDONLY));
    if (!kept.back()->is_kept()) {
      GTEST_SKIP() << "this process may not keep so much in memory";
    }
  }
  const auto begun = std::chrono::steady_clock::now();
  for (const File& file : files) {
    for (int task = 0; task < 20; ++task) {
      EXPECT_FALSE(notes_a_reader(*runtime_, file));
    }
  }
  const bool is_noted = notes_a_reader(*runtime_, file_);
  // After that time one of them is looked at.
  constexpr std::chrono::milliseconds shortest_rest(4);
  if (std::chrono::steady_clock::now() - begun < shortest_rest) {
    EXPECT_FALSE(is_noted);
  }
}

TEST_F(TaskReadAheadTest, OfALongFileThatIsDeclaredAsAWholeNothingIsReadUnlessTheEnvironmentAsksForIt) {
  const test::ColdFile long_one(5 * mebibyte);
  const File file = File::open(long_one.path(), O_RDONLY);
  unsetenv("DOVETAIL_PREFETCH_TASKS");
  unsetenv("DOVETAIL_PREFETCH_WINDOW_MB");
  for (const bool asks : {false, true}) {
    if (asks) {
      setenv("DOVETAIL_PREFETCH_TASKS", "1", 1);
    }
    runtime_.emplace(Options{.workers = 2});
    hold(gate_, computed_);
    constexpr std::uint64_t whole = std::uint64_t{1} << 60;
    runtime_->spawn({.access = {in(computed_), in(file, 0, whole)}}, [] {});
    runtime_->spawn({.access = {in(computed_), in(file_, 0, whole)}}, [] {});
    cold_.await(0, 4 * mebibyte);
    await_rest();
    if (asks) {
      long_one.await(0, 5 * mebibyte);
    } else {
      long_one.expect_cached(0);
    }
    gate_.release();
    runtime_->wait();
    cold_.forget();
  }
}

TEST_F(TaskReadAheadTest, AFileMayBeClosedBeforeItsTasksBegin) {
  hold(gate_, computed_);
  for (std::size_t i = 0; i < 16; ++i) {
    runtime_->spawn({.access = {in(computed_), in(file_, i * block, block)}}, [] {});
  }
  file_.close();
  EXPECT_THROW(file_.size(), IoError);
  std::filesystem::remove(cold_.path());
  gate_.release();
  runtime_->wait();
}

TEST_F(TaskReadAheadTest, ARuntimeEndsWhileItReads) {
  for (int round = 0; round < 10; ++round) {
    cold_.forget();
    for (std::size_t i = 0; i < 16; ++i) {
      runtime_->spawn({.access = {in(file_, i * block, block)}}, [] {});
    }
    runtime_.reset();
    runtime_.emplace(Options{.workers = 2});
  }
}

TEST_F(TaskReadAheadTest, NothingIsObservedIfTheEnvironmentForbidsIt) {
  const test::Variable off("DOVETAIL_PREFETCH_TASKS", "0");
  Runtime plain(Options{.workers = 1});
  EXPECT_EQ(plain.core().observer, nullptr);
  const test::Variable wrong("DOVETAIL_PREFETCH_TASKS", "2");
  try {
    const Runtime refused(Options{.workers = 1});
    FAIL() << "a runtime was made";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("DOVETAIL_PREFETCH_TASKS"), std::string::npos) << error.what();
  }
}

// Tasks that read and write blocks of a file at random. What is in the file at the end is a matter of the order alone.
std::vector<std::byte> run_at_random(std::uint64_t start, const test::ColdFile& cold) {
  constexpr std::size_t small = 16 * kibibyte;
  constexpr std::size_t blocks = 4 * mebibyte / small;
  const File file = File::open(cold.path(), O_RDWR);
  Runtime runtime(Options{.workers = 2});
  std::mt19937_64 random(start);
  const auto body = [&file](std::size_t from, std::size_t to, std::byte key) {
    std::vector<std::byte> bytes(small);
    file.pread(bytes, from * small);
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>(3 * static_cast<unsigned>(byte)) ^ key;
    }
    file.pwrite(bytes, to * small);
  };
  for (int i = 0; i < 400; ++i) {
    const std::size_t from = random() % blocks;
    const std::size_t to = (from + 1 + random() % 8) % blocks;
    const auto key = static_cast<std::byte>(random());
    const bool nested = random() % 4 == 0;
    runtime.spawn({.access = {in(file, from * small, small), out(file, to * small, small)}}, [=, &file] {
      if (nested) {
        spawn({.access = {in(file, from * small, small), out(file, to * small, small)}}, [=] { body(from, to, key); });
      } else {
        body(from, to, key);
      }
    });
  }
  runtime.wait();
  std::vector<std::byte> all(4 * mebibyte);
  file.pread(all, 0);
  return all;
}

TEST_F(TaskReadAheadTest, RandomGraphsGiveTheSameBytesWithAndWithout) {
  const std::uint64_t start = test::seed();
  for (std::uint64_t round = 0; round < 3; ++round) {
    const test::ColdFile with(4 * mebibyte, start);
    const test::ColdFile without(4 * mebibyte, start);
    const std::vector<std::byte> one = run_at_random(start + round, with);
    setenv("DOVETAIL_PREFETCH_TASKS", "0", 1);
    const std::vector<std::byte> other = run_at_random(start + round, without);
    setenv("DOVETAIL_PREFETCH_TASKS", "1", 1);
    EXPECT_TRUE(one == other) << "round " << round;
  }
}

}  // namespace
}  // namespace dovetail::prefetching
