// Which writes the calling core makes by itself.
#include <fcntl.h>

#include "held.hpp"
#include "storage/open_file.hpp"

namespace dovetail::test {
namespace {

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
    return fstat(file.descriptor(), &status) == 0 && device::device_of(status.st_dev, file.descriptor()).caches_writes;
  }
  bool in_memory() {
    struct stat status{};
    const File file = open_file();
    return fstat(file.descriptor(), &status) == 0 && device::device_of(status.st_dev, file.descriptor()).in_memory;
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
