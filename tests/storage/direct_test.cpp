// Files that bypass the page cache, with any offset, length and memory, against a copy kept byte by byte.
#include <fcntl.h>
#include <sys/statfs.h>

#include <map>

#include "base/descriptor.hpp"
#include "device/device.hpp"
#include "held.hpp"
#include "storage/direct_choice.hpp"
#include "storage/open_file.hpp"
#include "support.hpp"

namespace dovetail::test {
namespace {

class DirectTest : public EngineTest {
 protected:
  File open_direct(const std::string& name) {
    return File::open(folder_ / name, O_RDWR | O_CREAT, {.direct = Direct::automatic});
  }
};

TEST(DirectFileTest, KnowsWhatItsFileSystemRequires) {
  const Folder folder;
  base::Descriptor file(open((folder / "a").c_str(), O_RDWR | O_CREAT | O_DIRECT, 0600));
  struct statx said{};
  if (file.get() < 0 || statx(file.get(), "", AT_EMPTY_PATH, STATX_DIOALIGN, &said) != 0 ||
      (said.stx_mask & STATX_DIOALIGN) == 0) {
    GTEST_SKIP() << "this file system does not say";
  }
  const auto opened = storage::OpenFile::adopt(file.release(), true);
  EXPECT_EQ(opened->block_size(), said.stx_dio_offset_align);
  EXPECT_EQ(opened->memory_alignment(), said.stx_dio_mem_align);
}

// One task after the other, each with its own range: the file must be what the copy is, also in length.
TEST_P(DirectTest, RandomTransfersEqualAByteWiseCopy) {
  Runtime runtime(options());
  File file = open_direct("a");
  if (!file.direct()) {
    GTEST_SKIP() << "this file system has no direct I/O";
  }
  std::mt19937_64 random(seed());
  std::vector<std::byte> copy;
  for (std::size_t round = 0; round < scaled(400, 80); ++round) {
    const std::size_t offset = random() % (300 * 1024);
    const std::size_t length = random() % 3 == 0 ? random() % 600000 : random() % 12000;
    const std::size_t skew = random() % 3 == 0 ? 0 : random() % 600;
    std::vector<std::byte> buffer = random_bytes(length + skew, random());
    const std::span<std::byte> data = std::span(buffer).subspan(skew);
    const bool bound = random() % 2 == 0;
    const bool vectors = random() % 2 == 0;
    const std::size_t half = length > 0 ? random() % length : 0;
    const std::vector<iovec> list = {{data.data(), half}, {data.data() + half, length - half}};
    if (random() % 2 == 0) {
      std::size_t moved = 0;
      runtime
          .spawn([&] {
            if (vectors) {
              bound ? file.ipwritev(list, offset, &moved) : void(moved = file.pwritev(list, offset));
            } else {
              bound ? file.ipwrite(data, offset, &moved) : void(moved = file.pwrite(data, offset));
            }
          })
          .get();
      ASSERT_EQ(moved, length);
      if (length > 0) {
        copy.resize(std::max(copy.size(), offset + length));
        std::copy(data.begin(), data.end(), copy.begin() + static_cast<std::ptrdiff_t>(offset));
      }
      ASSERT_EQ(file.size(), copy.size()) << "offset " << offset << " length " << length;
    } else {
      std::size_t moved = 0;
      runtime
          .spawn([&] {
            if (vectors) {
              bound ? file.ipreadv(list, offset, &moved) : void(moved = file.preadv(list, offset));
            } else {
              bound ? file.ipread(data, offset, &moved) : void(moved = file.pread(data, offset));
            }
          })
          .get();
      const std::size_t expected = offset >= copy.size() ? 0 : std::min(length, copy.size() - offset);
      ASSERT_EQ(moved, expected) << "offset " << offset << " length " << length << " size " << copy.size();
      ASSERT_TRUE(std::equal(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(expected),
                             copy.begin() + static_cast<std::ptrdiff_t>(std::min(offset, copy.size()))))
          << "offset " << offset << " length " << length;
    }
  }
  file.fsync();
  const File cached = File::open(folder_ / "a", O_RDONLY);
  std::vector<std::byte> whole(copy.size());
  EXPECT_EQ(cached.pread(whole, 0), copy.size());
  EXPECT_TRUE(whole == copy);
}

// Neighbours share blocks and pages: no byte of one may be lost to the other.
TEST_P(DirectTest, AdjacentUnalignedWritesAtOnceLoseNothing) {
  Runtime runtime(options());
  File file = open_direct("a");
  std::mt19937_64 random(seed());
  for (std::size_t round = 0; round < scaled(30, 5); ++round) {
    std::vector<std::byte> data = random_bytes(400000, random());
    std::size_t begin = 0;
    while (begin < data.size()) {
      const std::size_t length = std::min<std::size_t>(1 + random() % 9000, data.size() - begin);
      runtime.spawn([&data, &file, begin, length] {
        if (begin % 2 == 0) {
          file.pwrite(std::span(data).subspan(begin, length), begin);
        } else {
          file.ipwrite(std::span(data).subspan(begin, length), begin);
        }
      });
      begin += length;
    }
    runtime.wait();
    std::vector<std::byte> back(data.size());
    ASSERT_EQ(file.pread(back, 0), data.size());
    ASSERT_TRUE(back == data);
    ASSERT_EQ(file.size(), data.size());
  }
}

TEST_P(DirectTest, OutsideOfTasks) {
  File file = open_direct("a");
  const auto data = random_bytes(700001, seed());
  EXPECT_EQ(file.pwrite(std::span(data).subspan(1), 3), data.size() - 1);
  std::vector<std::byte> back(data.size());
  EXPECT_EQ(file.pread(std::span(back).subspan(1), 3), data.size() - 1);
  EXPECT_TRUE(std::equal(back.begin() + 1, back.end(), data.begin() + 1));
}

TEST_P(DirectTest, ADirectDescriptorOfTheProgram) {
  const int descriptor = ::open((folder_ / "a").c_str(), O_RDWR | O_CREAT | O_DIRECT, 0600);
  if (descriptor < 0) {
    GTEST_SKIP() << "this file system has no direct I/O";
  }
  Runtime runtime(options());
  const auto data = random_bytes(50001, seed());
  runtime
      .spawn([&] {
        EXPECT_EQ(dovetail::pwrite(descriptor, data, 77), data.size());
        std::vector<std::byte> back(data.size());
        EXPECT_EQ(dovetail::pread(descriptor, back, 77), data.size());
        EXPECT_TRUE(back == data);
      })
      .get();
  EXPECT_TRUE(File::from_descriptor(descriptor).direct());
  EXPECT_EQ(::close(descriptor), 0);
}

TEST_P(DirectTest, WithoutDirectIoAutomaticIsBufferedAndAlwaysFails) {
  // Files of /proc have no direct I/O anywhere.
  const File cached = File::open("/proc/self/status", O_RDONLY, {.direct = Direct::automatic});
  EXPECT_FALSE(cached.direct());
  std::string text(20, ' ');
  EXPECT_GT(cached.pread(text, 0), 0U);
  EXPECT_THROW(File::open("/proc/self/status", O_RDONLY, {.direct = Direct::always}), IoError);
  EXPECT_THROW(File::open("/proc/self/status", O_RDONLY | O_DIRECT), IoError);
}

TEST_P(DirectTest, ExclusiveCreationWorksWithDirect) {
  const File file = File::open(folder_ / "new", O_RDWR | O_CREAT | O_EXCL, {.direct = Direct::automatic, .mode = 0400});
  EXPECT_TRUE(file.is_open());
  EXPECT_THROW(File::open(folder_ / "new", O_RDWR | O_CREAT | O_EXCL, {.direct = Direct::automatic}), IoError);
}

// Large and small transfers from several tasks at once, with neighbours that share pages. The large ones are direct, the small
// ones are not. Whatever way was chosen, the bytes are the same.
TEST_P(DirectTest, TheAdaptiveChoiceNeverChangesBytes) {
  Runtime runtime(options());
  const File file = File::open(folder_ / "a", O_RDWR | O_CREAT, {.direct = Direct::adaptive});
  std::mt19937_64 random(seed());
  constexpr std::size_t span = std::size_t{4} << 20;
  std::vector<std::byte> copy(span);
  file.truncate(span);
  for (std::size_t round = 0; round < scaled(30, 8); ++round) {
    const auto fresh = random_bytes(span, seed() + round);
    for (std::size_t begin = 0; begin < span;) {
      const std::size_t most = random() % 2 == 0 ? 9000 : 700000;
      const std::size_t length = std::min<std::size_t>(1 + random() % most, span - begin);
      if (random() % 2 == 0) {
        runtime.spawn([&, begin, length] { file.ipwrite(std::span(fresh).subspan(begin, length), begin); });
        std::copy_n(fresh.begin() + static_cast<std::ptrdiff_t>(begin), length,
                    copy.begin() + static_cast<std::ptrdiff_t>(begin));
      } else {
        runtime.spawn([&, begin, length] {
          std::vector<std::byte> back(length);
          EXPECT_EQ(file.pread(back, begin), length);
          EXPECT_TRUE(std::equal(back.begin(), back.end(), copy.begin() + static_cast<std::ptrdiff_t>(begin)));
        });
      }
      begin += length;
    }
    runtime.wait();
  }
  std::vector<std::byte> back(span);
  EXPECT_EQ(file.pread(back, 0), span);
  EXPECT_TRUE(back == copy);
}

// Long enough to be divided into shares, each of which goes through a buffer of its own; also past the end of the file.
TEST_P(DirectTest, LongTransfersToMemoryThatIsNotAligned) {
  Runtime runtime(options());
  const File file = open_direct("a");
  if (!file.direct()) {
    GTEST_SKIP() << "this file system has no direct I/O";
  }
  std::mt19937_64 random(seed());
  for (std::size_t round = 0; round < scaled(12, 4); ++round) {
    const std::size_t length = 400'000 + random() % 5'000'000;
    const std::size_t offset = random() % 10'000;
    const bool bound = random() % 2 == 0;
    const std::vector<std::byte> data = random_bytes(length + 1, random());
    const auto source = std::span(data).subspan(1);
    std::vector<std::byte> back(length + 70'000);
    const auto target = std::span(back).subspan(3);
    std::size_t written = 0;
    std::size_t read = 0;
    file.truncate(0);
    runtime.spawn([&] { bound ? file.ipwrite(source, offset, &written) : void(written = file.pwrite(source, offset)); })
        .get();
    ASSERT_EQ(written, length);
    ASSERT_EQ(file.size(), offset + length);
    runtime.spawn([&] { bound ? file.ipread(target, offset, &read) : void(read = file.pread(target, offset)); }).get();
    ASSERT_EQ(read, length) << "offset " << offset;
    ASSERT_TRUE(std::equal(source.begin(), source.end(), target.begin()));
    ASSERT_EQ(std::count(target.begin() + static_cast<std::ptrdiff_t>(length), target.end(), std::byte{0}),
              static_cast<std::ptrdiff_t>(target.size() - length));
  }
}

// Also the only page of a write, and of one that makes the file longer.
TEST_P(DirectTest, EachWholePageOfAWriteBypassesTheCache) {
  const File file = open_direct("a");
  if (!file.direct()) {
    GTEST_SKIP() << "this file system has no direct I/O";
  }
  std::mutex mutex;
  std::map<std::uint64_t, std::uint64_t> direct;  // bytes by offset: an attempt may be made again
  const auto held = Held::install([&](const storage::Request& request) {
    if (storage::writes(request.kind) && request.descriptor == file.descriptor()) {
      const std::lock_guard lock(mutex);
      direct[request.offset] = request.attempt;
    }
  });
  Runtime runtime(options());
  held->release(true);
  const auto data = random_bytes(3 * 4096, seed());
  for (const std::size_t pages : {1, 2}) {
    for (const std::size_t head : {0, 100}) {
      for (const std::size_t tail : {0, 50}) {
        direct.clear();
        const std::size_t length = head + pages * 4096 + tail - (tail > 0 && pages == 2 ? 4096 : 0);
        runtime.spawn([&] { file.pwrite(std::span(data).first(length), 4096 * 5 - head); }).get();
        std::uint64_t bytes = 0;
        for (const auto& [offset, moved] : direct) {
          bytes += moved;
        }
        EXPECT_EQ(bytes, (length - head) / 4096 * 4096) << pages << ' ' << head << ' ' << tail;
      }
    }
  }
}

DOVETAIL_FOR_EACH_ENGINE(DirectTest);

TEST(AdaptiveDirect, OnlyWhereItMayPay) {
  std::string path = "/dev/shm/dovetail-direct-test-XXXXXX";
  const base::Descriptor made(mkstemp(path.data()));
  if (made.get() < 0) {
    GTEST_SKIP() << "no /dev/shm here";
  }
  const File in_memory = File::open(path, O_RDWR, {.direct = Direct::adaptive});
  unlink(path.c_str());
  struct statfs information{};
  ASSERT_EQ(fstatfs(in_memory.descriptor(), &information), 0);
  if (information.f_type == 0x01021994) {  // tmpfs
    EXPECT_FALSE(in_memory.direct());
  }
}

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

TEST(AdaptiveDirect, LargeStreamsBypassTheCacheAndSmallTransfersDoNot) {
  storage::DirectChoice choice;
  for (std::uint64_t i = 0; i < 32; ++i) {
    EXPECT_TRUE(choice.direct(storage::Kind::write, i * mebibyte / 2, mebibyte / 2));
    EXPECT_FALSE(choice.direct(storage::Kind::write, (100 + i) * mebibyte, 65536));
  }
  for (std::uint64_t i = 0; i < 32; ++i) {
    EXPECT_TRUE(choice.direct(storage::Kind::read, i * mebibyte / 2, mebibyte / 2)) << i;
    EXPECT_FALSE(choice.direct(storage::Kind::readv, (200 + i) * mebibyte, 65536));
  }
}

TEST(AdaptiveDirect, WhatIsReadAgainIsKeptInTheCache) {
  storage::DirectChoice choice;
  EXPECT_TRUE(choice.direct(storage::Kind::read, 0, 4 * mebibyte));
  EXPECT_FALSE(choice.direct(storage::Kind::read, 0, 4 * mebibyte));
  EXPECT_FALSE(choice.direct(storage::Kind::read, 0, 4 * mebibyte));
  EXPECT_TRUE(choice.direct(storage::Kind::read, 4 * mebibyte, 4 * mebibyte));
  // It is read again and again: what is written there stays where the reader finds it.
  EXPECT_FALSE(choice.direct(storage::Kind::write, 0, 4 * mebibyte));
  EXPECT_TRUE(choice.direct(storage::Kind::write, 8 * mebibyte, 4 * mebibyte));
}

}  // namespace
}  // namespace dovetail::test
