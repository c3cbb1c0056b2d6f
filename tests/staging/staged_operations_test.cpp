// Files that tasks open with `FileOptions::staged`.
#include "staging/staged_operations.hpp"

#include <linux/falloc.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <latch>
#include <thread>

#include "dovetail/dovetail.hpp"
#include "staging/tier_support.hpp"
#include "storage/operation.hpp"
#include "storage/support.hpp"
#include "tasking/background.hpp"

namespace dovetail::staging {
namespace {

using Kind = WatchedCalls::Kind;
using Asked = WatchedCalls::Asked;
using Fault = WatchedCalls::Fault;

class StagedFileOfTasksTest : public TierTest {
 protected:
  File staged(int flags = O_RDWR) const { return File::open(final_path, flags, {.staged = true, .tier = tier}); }
  bool log_exists() const { return std::filesystem::exists(log); }
  static Bytes contents(const File& file) {
    Bytes bytes(file.size() + 10);
    bytes.resize(file.pread(bytes, 0));
    return bytes;
  }
  /// The same with calls that a test watches.
  std::shared_ptr<SharedTieredFile> watched() {
    SharedTieredFile::Opened opened = SharedTieredFile::open(tier, final_path, settings);
    EXPECT_EQ(opened.failure.text(), "");
    return opened.file;
  }
};

storage::Operation operation_of(storage::Kind kind, Bytes& data, std::uint64_t offset) {
  storage::Operation operation;
  operation.kind = kind;
  operation.data = data.data();
  operation.length = data.size();
  operation.offset = offset;
  return operation;
}

int errno_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const IoError& error) {
    return error.code().value();
  }
  return 0;
}

// One change or look at random, by any of the calls, and the same at a plain file.
void act(const File& file, PlainModel& model, std::mt19937_64& random) {
  const std::uint64_t offset = random() % 300'000;
  const Bytes data = test::random_bytes(1 + random() % (random() % 3 == 0 ? 250'000 : 3'000), random());
  const std::size_t half = data.size() / 2;
  const std::array parts = {iovec{const_cast<std::byte*>(data.data()), half},
                            iovec{const_cast<std::byte*>(data.data()) + half, data.size() - half}};
  switch (random() % 9) {
    case 0:
      ASSERT_EQ(file.pwrite(data, offset), data.size());
      model.write(offset, data);
      break;
    case 1:
      ASSERT_EQ(file.pwritev(parts, offset), data.size());
      model.write(offset, data);
      break;
    case 2:
      ASSERT_EQ(file.pwrite_durable(data, offset), data.size());
      model.write(offset, data);
      break;
    case 3:
      file.truncate(offset);
      model.set_size(offset);
      break;
    case 4:
      file.fallocate(offset, data.size());
      model.set_size(std::max(model.bytes.size(), offset + data.size()));
      break;
    case 5:
      file.fsync();
      break;
    case 6:
      file.drain();
      break;
    default: {
      Bytes target(data.size(), std::byte{1});
      std::array targets = {iovec{target.data(), half}, iovec{target.data() + half, target.size() - half}};
      target.resize(random() % 2 == 0 ? file.pread(target, offset) : file.preadv(targets, offset));
      ASSERT_TRUE(same(target, model.part(offset, data.size())));
    }
  }
  ASSERT_EQ(file.size(), model.bytes.size());
}

TEST_F(StagedFileOfTasksTest, RandomCallsAreThoseOfAPlainFile) {
  for (const bool in_task : {false, true}) {
    std::mt19937_64 random(test::seed() + (in_task ? 1 : 0));
    PlainModel model;
    put(final_path, {});
    File file = staged();
    const auto acts = [&] {
      for (std::size_t step = 0; step < test::scaled(300, 60) && !HasFatalFailure(); ++step) {
        act(file, model, random);
      }
    };
    if (in_task) {
      Runtime runtime({.workers = 2});
      runtime.spawn(acts).get();
    } else {
      acts();
    }
    ASSERT_TRUE(same(contents(file), model.bytes));
    file.close();
    EXPECT_TRUE(same(bytes_of(final_path), model.bytes));
    EXPECT_FALSE(log_exists());
  }
}

TEST_F(StagedFileOfTasksTest, BoundWritesOfManyTasks) {
  constexpr std::uint64_t tasks = 200;
  constexpr std::size_t bytes = 1000;
  const Bytes data = test::random_bytes(tasks * bytes, 5);
  {
    Runtime runtime({.workers = 2});
    File file = staged();
    std::vector<std::size_t> written(tasks);
    for (std::uint64_t i = 0; i < tasks; ++i) {
      runtime.spawn([&, i] {
        const std::span<const std::byte> part = std::span(data).subspan(i * bytes, bytes);
        std::array parts = {iovec{const_cast<std::byte*>(part.data()), bytes}};
        if (i % 2 == 0) {
          file.ipwrite(part, i * bytes, &written[i]);
        } else {
          file.ipwritev(parts, i * bytes, &written[i]);  // the list ends before the write
        }
      });
    }
    runtime.wait();
    EXPECT_EQ(written, std::vector<std::size_t>(tasks, bytes));
    runtime.spawn([&] { file.idrain(); });
    runtime.wait();
    EXPECT_TRUE(same(bytes_of(final_path), data));
    runtime.spawn([&] { file.close(); });
    runtime.wait();
  }
  EXPECT_FALSE(log_exists());
}

TEST_F(StagedFileOfTasksTest, OthersSeeItAfterDrainAndClose) {
  put(final_path, test::random_bytes(100, 1));
  const Bytes data = test::random_bytes(5000, 2);
  File file = staged();
  file.pwrite(data, 0);
  file.fsync();
  EXPECT_TRUE(same(bytes_of(final_path), test::random_bytes(100, 1)));
  EXPECT_TRUE(same(contents(file), data));
  file.drain();
  EXPECT_TRUE(same(bytes_of(final_path), data));
  file.truncate(10);
  EXPECT_EQ(bytes_of(final_path).size(), 5000U);
  file.close();
  EXPECT_EQ(bytes_of(final_path).size(), 10U);
  EXPECT_EQ(errno_of([&] { file.drain(); }), EBADF);
}

TEST_F(StagedFileOfTasksTest, EveryOpeningInTheProcessSeesTheSame) {
  File one = staged();
  File other = staged();
  const Bytes data = test::random_bytes(1000, 3);
  one.pwrite(data, 500);
  EXPECT_TRUE(same(contents(other), contents(one)));
  one.close();
  EXPECT_EQ(bytes_of(final_path).size(), 1500U);
  EXPECT_TRUE(log_exists());
  other.pwrite(data, 0);
  other.close();
  EXPECT_FALSE(log_exists());
  EXPECT_EQ(bytes_of(final_path).size(), 1500U);
}

TEST_F(StagedFileOfTasksTest, AppendsTakeTurns) {
  constexpr int threads = 4;
  constexpr int each = 100;
  {
    File file = staged(O_RDWR | O_APPEND);
    File again = staged(O_RDWR | O_APPEND);
    std::vector<std::jthread> writers;
    for (int i = 0; i < threads; ++i) {
      writers.emplace_back([&, i] {
        for (int j = 0; j < each; ++j) {
          (i % 2 == 0 ? file : again).pwrite(Bytes(10, static_cast<std::byte>(i + 1)), 0);
        }
      });
    }
    writers.clear();
    again.close();
    file.close();
  }
  Bytes found = bytes_of(final_path);
  ASSERT_EQ(found.size(), std::size_t{threads * each * 10});
  for (std::size_t at = 0; at < found.size(); at += 10) {
    EXPECT_EQ(std::ranges::count(std::span(found).subspan(at, 10), found[at]), 10);
  }
  for (int i = 0; i < threads; ++i) {
    EXPECT_EQ(std::ranges::count(found, static_cast<std::byte>(i + 1)), each * 10);
  }
}

TEST_F(StagedFileOfTasksTest, FlagsAreThoseOfOpen) {
  put(final_path, test::random_bytes(100, 1));
  Bytes some(10);
  File reader = staged(O_RDONLY);
  EXPECT_EQ(errno_of([&] { reader.pwrite(some, 0); }), EBADF);
  EXPECT_EQ(errno_of([&] { reader.truncate(0); }), EINVAL);
  EXPECT_EQ(errno_of([&] { reader.fallocate(0, 200); }), EBADF);
  EXPECT_EQ(reader.pread(some, 0), 10U);
  reader.close();
  File writer = staged(O_WRONLY);
  EXPECT_EQ(errno_of([&] { writer.pread(some, 0); }), EBADF);
  writer.close();
  File emptied = staged(O_RDWR | O_TRUNC);
  EXPECT_EQ(emptied.size(), 0U);
  EXPECT_EQ(errno_of([&] { emptied.fallocate(0, 10, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE); }), EOPNOTSUPP);
  emptied.fallocate(0, 10, FALLOC_FL_KEEP_SIZE);
  EXPECT_EQ(emptied.size(), 0U);
  emptied.close();
  EXPECT_EQ(bytes_of(final_path).size(), 0U);
  EXPECT_EQ(errno_of([&] { staged(O_RDWR | O_CREAT | O_EXCL); }), EEXIST);
}

TEST_F(StagedFileOfTasksTest, WhatCannotBeStagedIsRefused) {
  unsetenv("DOVETAIL_TIER");
  EXPECT_EQ(errno_of([&] { File::open(final_path, O_RDWR, {.staged = true}); }), EINVAL);
  EXPECT_EQ(errno_of([&] { File::open(final_path, O_RDWR, {.staged = true, .tier = tier + "/none"}); }), ENOENT);
  EXPECT_EQ(errno_of([&] { File::open(tier, O_RDONLY, {.staged = true, .tier = tier}); }), EINVAL);
  EXPECT_EQ(errno_of([&] { File::open(final_path, O_RDWR | O_DIRECT, {.staged = true, .tier = tier}); }), EINVAL);
  setenv("DOVETAIL_TIER", tier.c_str(), 1);
  File file = File::open(final_path, O_RDWR, {.staged = true});
  EXPECT_TRUE(log_exists());
  file.close();
  unsetenv("DOVETAIL_TIER");
}

// A file that is not staged has nothing to drain.
TEST_F(StagedFileOfTasksTest, DrainIsASyncElsewhere) {
  File file = File::open(final_path, O_RDWR);
  file.pwrite(Bytes(10), 0);
  EXPECT_NO_THROW(file.drain());
  Runtime runtime({.workers = 1});
  runtime.spawn([&] { file.idrain(); });
  EXPECT_NO_THROW(runtime.wait());
}

TEST_F(StagedFileOfTasksTest, TheLastCopyDrainsWithoutClose) {
  const Bytes data = test::random_bytes(20'000, 7);
  {
    File file = staged();
    file.pwrite(data, 0);
  }
  tasking::end_background();  // which waits for the drain
  EXPECT_TRUE(same(bytes_of(final_path), data));
  EXPECT_FALSE(log_exists());
}

// A program that opens it again meanwhile gets the same file, or a new one.
TEST_F(StagedFileOfTasksTest, OpeningsFollowEachOtherWithoutClose) {
  PlainModel model;
  for (std::uint64_t i = 0; i < test::scaled(50, 20); ++i) {
    File file = staged();
    ASSERT_TRUE(same(contents(file), model.bytes));
    const Bytes data = test::random_bytes(1000, i);
    file.pwrite(data, i * 500);
    model.write(i * 500, data);
  }
  tasking::end_background();
  EXPECT_TRUE(same(bytes_of(final_path), model.bytes));
}

TEST_F(StagedFileOfTasksTest, AnotherTierIsRefusedMeanwhile) {
  File file = staged();
  const std::string other = folder / "other";
  std::filesystem::create_directory(other);
  EXPECT_EQ(errno_of([&] { File::open(final_path, O_RDWR, {.staged = true, .tier = other}); }), EBUSY);
  const std::string again = folder / "link";
  std::filesystem::create_hard_link(final_path, again);
  EXPECT_EQ(errno_of([&] { File::open(again, O_RDWR, {.staged = true, .tier = tier}); }), EBUSY);
  File same_tier = File::open(final_path, O_RDWR, {.staged = true, .tier = tier + "/"});
  same_tier.close();
  file.close();
}

TEST_F(StagedFileOfTasksTest, WhatHasReturnedSurvivesAKill) {
  const Bytes data = test::random_bytes(200'000, 8);
  const pid_t child = fork();
  if (child == 0) {
    File file = staged();
    file.pwrite(std::span(data).first(1000), 0);
    file.pwrite(std::span(data).subspan(1000), 1000);
    std::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_EQ(bytes_of(final_path).size(), 0U);
  File file = staged();
  EXPECT_TRUE(same(contents(file), data));
  file.close();
  EXPECT_TRUE(same(bytes_of(final_path), data));
}

// It may run on another node: the writer there must not fail.
TEST_F(StagedFileOfTasksTest, AnOpeningToReadTakesNoGeneration) {
  auto writer = open();
  ASSERT_EQ(writer->write(0, Bytes(100, std::byte{1})).text(), "");
  const std::string other = folder / "other";
  std::filesystem::create_directory(other);
  File reader = File::open(final_path, O_RDONLY, {.staged = true, .tier = other});
  EXPECT_EQ(writer->finish().text(), "");
  reader.close();
}

TEST_F(StagedFileOfTasksTest, TheChildOfAForkIsRefused) {
  File file = staged();
  const pid_t child = fork();
  if (child == 0) {
    const int used = errno_of([&] { file.pwrite(Bytes(1), 0); });
    const int opened = errno_of([&] { staged(); });
    _exit(used == ENOTSUP && opened == EBUSY ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(file.size(), 0U);
  file.close();
}

// What a bound write promises: its task completes when the bytes are durable on the tier.
TEST_F(StagedFileOfTasksTest, ABoundWriteIsDurableAndAPlainOneIsNot) {
  std::atomic<int> syncs = 0;
  calls.before = [&](const Asked& asked) {
    syncs += asked.kind == Kind::sync && asked.is_log() ? 1 : 0;
    return Fault{};
  };
  const std::shared_ptr<SharedTieredFile> first = watched();  // its calls are those of all openings
  {
    Runtime runtime({.workers = 1});
    File file = staged();
    const Bytes data(100);
    const auto syncs_of = [&](const std::function<void()>& body) {
      const int before = syncs;
      runtime.spawn(body).get();
      return syncs - before;
    };
    EXPECT_EQ(syncs_of([&] { file.pwrite(data, 0); }), 0);
    EXPECT_EQ(syncs_of([&] { file.ipwrite(data, 0); }), 1);
    EXPECT_EQ(syncs_of([&] { file.pwrite_durable(data, 0); }), 1);
    File synchronous = staged(O_RDWR | O_DSYNC);
    EXPECT_EQ(syncs_of([&] { synchronous.pwrite(data, 0); }), 1);
    synchronous.close();
    file.close();
  }
  EXPECT_EQ(first->close().text(), "");
}

// Neither waiting for all tasks nor cancelling them has to do with drains.
TEST_F(StagedFileOfTasksTest, TheRuntimeDoesNotWaitForADrain) {
  std::latch go_on(1);
  std::latch begun(1);
  calls.before = [&](const Asked& asked) {
    if (asked.kind == Kind::sync && asked.path() == final_path && !begun.try_wait()) {
      begun.count_down();
      go_on.wait();
    }
    return Fault{};
  };
  const Bytes data = test::random_bytes(settings.segment_bytes + 1, 9);
  const std::shared_ptr<SharedTieredFile> first = watched();
  {
    Runtime runtime({.workers = 1});
    File file = staged();
    runtime.spawn([&] { file.pwrite(data, 0); });
    begun.wait();
    runtime.wait();
    runtime.cancel();
    go_on.count_down();
    file.close();
  }
  EXPECT_EQ(first->close().text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), data));
}

TEST_F(StagedFileOfTasksTest, AFullSegmentIsDrainedByItself) {
  std::atomic<bool> drained = false;
  calls.before = [&](const Asked& asked) {
    if (asked.kind == Kind::sync && asked.path() == final_path) {
      drained = true;
      drained.notify_all();
    }
    return Fault{};
  };
  StagedOperations operations(watched(), final_path, O_RDWR);
  Bytes data = test::random_bytes(settings.segment_bytes + 1, 9);
  operations.perform(operation_of(storage::Kind::write, data, 0));
  drained.wait(false);
  operations.close();
  EXPECT_TRUE(same(bytes_of(final_path), data));
}

// And what was written during a drain, though nothing is written after it.
TEST_F(StagedFileOfTasksTest, SoIsTheNextOne) {
  std::latch begun(1);
  std::latch written(1);
  std::atomic<int> drains = 0;
  calls.before = [&](const Asked& asked) {
    if (asked.kind == Kind::sync && asked.path() == final_path) {
      if (drains == 0) {
        begun.count_down();
      }
      written.wait();
      ++drains;
      drains.notify_all();
    }
    return Fault{};
  };
  StagedOperations operations(watched(), final_path, O_RDWR);
  Bytes data = test::random_bytes(settings.segment_bytes + 1, 9);
  operations.perform(operation_of(storage::Kind::write, data, 0));
  begun.wait();
  while (segments().size() < 3) {
    operations.perform(operation_of(storage::Kind::write, data, data.size()));
  }
  written.count_down();
  drains.wait(0);
  drains.wait(1);
  operations.close();
}

TEST_F(StagedFileOfTasksTest, AFailureOfTheDrainReachesTheNextSync) {
  std::atomic<bool> fails = true;
  std::atomic<int> drains = 0;
  calls.before = [&](const Asked& asked) {
    const bool is_final = asked.kind == Kind::write && asked.path() == final_path;
    if (is_final && fails) {
      ++drains;
      drains.notify_all();
      return Fault{.error = EIO};
    }
    return Fault{};
  };
  const std::shared_ptr<SharedTieredFile> file = watched();
  StagedOperations operations(file, final_path, O_RDWR);
  Bytes data = test::random_bytes(settings.segment_bytes + 1, 9);
  Bytes none;
  operations.perform(operation_of(storage::Kind::write, data, 0));
  drains.wait(0);
  int told = 0;
  while (told == 0) {  // until the drain has ended
    told = errno_of([&] { operations.perform(operation_of(storage::Kind::fsync, none, 0)); });
  }
  EXPECT_EQ(told, EIO);
  EXPECT_EQ(errno_of([&] { operations.perform(operation_of(storage::Kind::fsync, none, 0)); }), 0);
  EXPECT_EQ(errno_of([&] { operations.drain(); }), EIO);
  fails = false;
  operations.close();
  EXPECT_TRUE(same(bytes_of(final_path), data));
  EXPECT_FALSE(log_exists());
}

TEST_F(StagedFileOfTasksTest, ACloseThatFailsLeavesTheLog) {
  std::atomic<bool> fails = true;
  calls.before = [&](const Asked& asked) {
    return Fault{.error = fails && asked.kind == Kind::write && asked.path() == final_path ? ENOSPC : 0};
  };
  Bytes data = test::random_bytes(1000, 9);
  {
    StagedOperations operations(watched(), final_path, O_RDWR);
    operations.perform(operation_of(storage::Kind::write, data, 0));
    EXPECT_EQ(errno_of([&] { operations.close(); }), ENOSPC);
  }
  EXPECT_TRUE(log_exists());
  fails = false;
  File file = staged();
  EXPECT_TRUE(same(contents(file), data));
  file.close();
  EXPECT_TRUE(same(bytes_of(final_path), data));
}

}  // namespace
}  // namespace dovetail::staging
