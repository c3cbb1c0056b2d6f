// Which writes the calling core makes by itself.
#include "storage/in_place_writes.hpp"

#include <fcntl.h>
#include <poll.h>

#include "base/clock.hpp"
#include "held.hpp"
#include "storage/open_file.hpp"

namespace dovetail::test {
namespace {

using storage::InPlaceWrites;

const std::uint64_t millisecond = 1000 * base::ticks_per_microsecond();
constexpr std::uint64_t some_bytes = 4096;

// A moment, far enough from zero.
constexpr std::uint64_t start = std::uint64_t{1} << 60;

void let_this_thread_wait() { poll(nullptr, 0, 1); }

TEST(InPlaceWritesTest, AllAreMadeAsLongAsNoneTakesLong) {
  InPlaceWrites writes;
  for (std::uint64_t now = start; now < start + 100 * millisecond; now += millisecond) {
    const InPlaceWrites::Attempt attempt = writes.begin(now);
    ASSERT_TRUE(attempt.allowed);
    EXPECT_EQ(attempt.waits, -1) << "counting the waits of each write would cost as much as the write";
    let_this_thread_wait();
    writes.ended(attempt, now + millisecond / 100, some_bytes);
  }
}

TEST(InPlaceWritesTest, ALongWriteThatDidNotWaitChangesNothing) {
  InPlaceWrites writes;
  for (int i = 0; i < 10; ++i) {
    const InPlaceWrites::Attempt attempt = writes.begin(start);
    ASSERT_TRUE(attempt.allowed);
    writes.ended(attempt, start + 10 * millisecond, some_bytes);
  }
  EXPECT_TRUE(writes.begin(start).allowed);
}

TEST(InPlaceWritesTest, AfterTwoThatWaitedNoneIsMadeFor64TimesAsLongAndThenOne) {
  InPlaceWrites writes;
  std::uint64_t now = start;
  for (int i = 0; i < 2; ++i) {
    const InPlaceWrites::Attempt attempt = writes.begin(now);
    ASSERT_TRUE(attempt.allowed);
    let_this_thread_wait();
    now += 10 * millisecond;
    writes.ended(attempt, now, some_bytes);
  }
  EXPECT_FALSE(writes.begin(now).allowed);
  EXPECT_FALSE(writes.begin(now + 639 * millisecond).allowed);
  now += 641 * millisecond;
  const InPlaceWrites::Attempt trial = writes.begin(now);
  EXPECT_TRUE(trial.allowed);
  EXPECT_FALSE(writes.begin(now + millisecond).allowed) << "a second one beside the trial";
  EXPECT_TRUE(writes.begin(now + 1001 * millisecond).allowed) << "a trial that waits for very long";
}

TEST(InPlaceWritesTest, ATrialThatIsShortBringsThemBackAndOneThatWaitsDoesNot) {
  for (const bool waits : {false, true}) {
    InPlaceWrites writes;
    std::uint64_t now = start;
    for (int i = 0; i < 2; ++i) {
      const InPlaceWrites::Attempt attempt = writes.begin(now);
      let_this_thread_wait();
      now += millisecond;
      writes.ended(attempt, now, some_bytes);
    }
    now += 65 * millisecond;
    const InPlaceWrites::Attempt trial = writes.begin(now);
    ASSERT_TRUE(trial.allowed);
    if (waits) {
      let_this_thread_wait();
      now += millisecond;
    }
    writes.ended(trial, now, some_bytes);
    EXPECT_EQ(writes.begin(now).allowed, !waits);
    EXPECT_TRUE(writes.begin(now + 65 * millisecond).allowed);
  }
}

// A write of another worker that began before the trust was lost and was short does not bring it back.
TEST(InPlaceWritesTest, AShortWriteThatBeganBeforeDoesNotBringThemBack) {
  InPlaceWrites writes;
  const InPlaceWrites::Attempt other = writes.begin(start);
  std::uint64_t now = start;
  for (int i = 0; i < 2; ++i) {
    const InPlaceWrites::Attempt attempt = writes.begin(now);
    let_this_thread_wait();
    now += millisecond;
    writes.ended(attempt, now, some_bytes);
  }
  writes.ended(other, start + 1, some_bytes);
  EXPECT_FALSE(writes.begin(now).allowed);
}

// How many requests a task hands over for what it does.
template <class Body>
std::uint64_t handed_over(Runtime& runtime, Body body) {
  storage::StorageService& service = *storage::StorageService::of(runtime.core());
  const std::uint64_t before = service.handed_over();
  runtime.spawn(body).get();
  return service.handed_over() - before;
}

class InPlaceTest : public testing::Test {
 protected:
  File open_file(int more_flags = 0, const FileOptions& options = {}) {
    return File::open(folder_ / ("file" + std::to_string(++files_)), O_RDWR | O_CREAT | more_flags, options);
  }
  bool copies_writes() {
    struct stat status{};
    const File file = open_file();
    return fstat(file.descriptor(), &status) == 0 && storage::device_of(status.st_dev, file.descriptor()).caches_writes;
  }
  static constexpr int many = 50;
  Folder folder_;
  int files_ = 0;
};

// A disk that is busy with something else may make any of them wait, so it is repeated until none did.
TEST_F(InPlaceTest, SmallWritesThroughThePageCacheAreNotHandedOver) {
  if (!copies_writes()) {
    GTEST_SKIP() << "the file system of the build tree is not known to copy writes";
  }
  Runtime runtime(Options{.workers = 2});
  const File file = open_file();
  std::uint64_t round = 0;
  const auto write_many = [&] {
    for (std::uint64_t i = 0; i < many; ++i) {
      const std::vector<std::byte> bytes = random_bytes(1000 + i, round * many + i);
      ASSERT_EQ(file.pwrite(std::span(bytes), i * 2000), bytes.size());
      const iovec parts[] = {{const_cast<std::byte*>(bytes.data()), 100},
                             {const_cast<std::byte*>(bytes.data()) + 100, 900}};
      ASSERT_EQ(file.pwritev(parts, i * 2000), 1000U);
    }
  };
  while (handed_over(runtime, write_many) > 0) {
    ++round;
  }
  runtime
      .spawn([&] {
        for (std::uint64_t i = 0; i < many; ++i) {
          std::vector<std::byte> found(1000 + i);
          ASSERT_EQ(file.pread(std::span(found), i * 2000), found.size());
          EXPECT_EQ(found, random_bytes(1000 + i, round * many + i));
        }
      })
      .get();
}

TEST_F(InPlaceTest, WritesThatAreNoCopiesAreHandedOver) {
  if (!ring_available()) {
    GTEST_SKIP() << "no io_uring here";
  }
  const std::vector<std::byte> small = random_bytes(4096, seed());
  const std::vector<std::byte> large = random_bytes(256 * 1024, seed());
  const auto writes = [&](const File& file, const std::vector<std::byte>& bytes) {
    return [&] {
      for (std::uint64_t i = 0; i < many; ++i) {
        file.pwrite(std::span(bytes), i * bytes.size());
      }
    };
  };
  Runtime runtime(Options{.workers = 2});
  const File plain = open_file();
  EXPECT_EQ(handed_over(runtime, writes(plain, large)), many) << "larger than a core may copy by itself";
  const File synchronous = open_file(O_DSYNC);
  EXPECT_EQ(handed_over(runtime, writes(synchronous, small)), many) << "O_DSYNC";
  const File adopted = File::from_descriptor(synchronous.descriptor(), false);
  EXPECT_EQ(handed_over(runtime, writes(adopted, small)), many) << "O_DSYNC of an adopted descriptor";
  EXPECT_EQ(handed_over(runtime,
                        [&] {
                          for (std::uint64_t i = 0; i < many; ++i) {
                            plain.pwrite_durable(std::span(small), i * small.size());
                          }
                        }),
            many)
      << "durable";
  Runtime given(Options{.workers = 2, .engine = "threads"});
  EXPECT_EQ(handed_over(given, writes(plain, small)), many) << "the engine was asked for";
}

}  // namespace
}  // namespace dovetail::test
