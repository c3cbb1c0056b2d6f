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

// A write that begins at `now`, takes so long, and waits or not.
bool write_once(InPlaceWrites& writes, std::uint64_t& now, std::uint64_t ticks, bool waits) {
  const InPlaceWrites::Attempt attempt = writes.begin(now);
  if (!attempt.allowed) {
    return false;
  }
  if (waits) {
    let_this_thread_wait();
  }
  now += ticks;
  writes.ended(attempt, now, some_bytes);
  return true;
}

TEST(InPlaceWritesTest, AfterTwoThatWaitedNoneIsMadeFor64TimesAsLong) {
  InPlaceWrites writes;
  std::uint64_t now = start;
  EXPECT_TRUE(write_once(writes, now, 10 * millisecond, true));
  EXPECT_TRUE(write_once(writes, now, 10 * millisecond, true));
  EXPECT_FALSE(writes.begin(now).allowed);
  EXPECT_FALSE(writes.begin(now + 639 * millisecond).allowed);
  EXPECT_TRUE(writes.begin(now + 641 * millisecond).allowed);
}

// The kernel holds a writer back at every so many pages: most writes are short even then.
TEST(InPlaceWritesTest, ShortOnesBetweenThoseThatWaitDoNotBringTheTrustBack) {
  InPlaceWrites writes;
  std::uint64_t now = start;
  std::uint64_t waited = 0;
  for (int i = 0; i < 100000; ++i) {
    const bool waits = i % 30 == 0;
    const std::uint64_t took = waits ? 5 * millisecond : millisecond / 100;
    if (write_once(writes, now, took, waits)) {
      waited += waits ? took : 0;
    } else {
      now += millisecond / 100;  // handed over
    }
  }
  EXPECT_LE(waited, 2 * 5 * millisecond + (now - start) / 64);
  EXPECT_GT(waited, 0U);
}

TEST(InPlaceWritesTest, TheTrustComesBackWhenNoneHasWaitedFor64TimesAsLong) {
  InPlaceWrites writes;
  std::uint64_t now = start;
  write_once(writes, now, millisecond, true);
  write_once(writes, now, millisecond, true);
  now += 65 * millisecond;
  for (int i = 0; i < 64; ++i) {
    EXPECT_GE(writes.begin(now).waits, 0) << "counted";
    EXPECT_TRUE(write_once(writes, now, millisecond / 100, false));
    now += millisecond;
  }
  EXPECT_TRUE(write_once(writes, now, millisecond / 100, false));
  EXPECT_EQ(writes.begin(now).waits, -1) << "trusted";
}

// A write of another worker that began before and ends now does not bring it back, short or long.
TEST(InPlaceWritesTest, OneThatBeganBeforeDoesNotBringThemBack) {
  InPlaceWrites writes;
  std::uint64_t now = start;
  write_once(writes, now, millisecond, true);
  const InPlaceWrites::Attempt other = writes.begin(now);
  write_once(writes, now, millisecond, true);
  writes.ended(other, now, some_bytes);
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
  bool in_memory() {
    struct stat status{};
    const File file = open_file();
    return fstat(file.descriptor(), &status) == 0 && storage::device_of(status.st_dev, file.descriptor()).in_memory;
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
  if (in_memory()) {
    GTEST_SKIP() << "the build tree lies in memory, where every write is a copy";
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
