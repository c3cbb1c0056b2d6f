// What GPFS and Lustre are told. Neither is to be had here: their libraries are doubles that record the calls.
#include "prefetch/file_system_hints.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <vector>

#include "prefetch/cold_file.hpp"

namespace dovetail::prefetching {
namespace {

constexpr long gpfs_type = 0x47504653;
constexpr long lustre_type = 0x0BD00BD0;

// Written down anew from gpfs_fcntl.h (IBM Storage Scale) and lustre_user.h.
struct GpfsCalled {
  struct Range {
    long long block;
    int start, length, is_write;
    char padding[4];
  };
  int total_length, version, error_offset, reserved;
  int struct_length, struct_type, accessed, released;
  Range accesses[8];
  Range releases[8];
};
struct LustreCalled {
  std::uint16_t advice, value1;
  std::uint32_t value2;
  std::uint64_t start, end;
  std::uint32_t value3, value4;
};
struct Recorded {
  std::vector<GpfsCalled> gpfs;
  std::vector<LustreCalled> lustre;
  std::vector<unsigned long long> lustre_flags;
  int gpfs_returns = 0;
};
Recorded recorded;

extern "C" int gpfs_double(int, void* hint) {
  recorded.gpfs.emplace_back();
  std::memcpy(&recorded.gpfs.back(), hint, sizeof(GpfsCalled));
  return recorded.gpfs_returns;
}
extern "C" int lustre_double(int, unsigned long long flags, int count, void* advice) {
  EXPECT_EQ(count, 1);
  recorded.lustre.emplace_back();
  std::memcpy(&recorded.lustre.back(), advice, sizeof(LustreCalled));
  recorded.lustre_flags.push_back(flags);
  return 0;
}

void* doubles(const char* library, const char* function) {
  if (std::strcmp(library, "libgpfs.so") == 0 && std::strcmp(function, "gpfs_fcntl") == 0) {
    return reinterpret_cast<void*>(&gpfs_double);
  }
  if (std::strcmp(library, "liblustreapi.so") == 0 && std::strcmp(function, "llapi_ladvise") == 0) {
    return reinterpret_cast<void*>(&lustre_double);
  }
  return nullptr;
}
void* nothing(const char*, const char*) { return nullptr; }

class FileSystemHintsTest : public testing::Test {
 protected:
  FileSystemHintsTest() : file_(::open(cold_.path().c_str(), O_RDONLY | O_CLOEXEC)) {
    recorded = {};
    struct stat status{};
    EXPECT_EQ(fstat(file_.get(), &status), 0);
    block_ = static_cast<std::uint64_t>(status.st_blksize);
  }

  test::ColdFile cold_{std::size_t{4} << 20};
  base::Descriptor file_;
  std::uint64_t block_ = 0;  // of the file system
  FileSystemHints hints_{doubles};
};

TEST_F(FileSystemHintsTest, AreChosenByTheFileSystemAndItsLibrary) {
  EXPECT_EQ(hints_.kind_of(gpfs_type), FileSystemHints::Kind::gpfs);
  EXPECT_EQ(hints_.kind_of(lustre_type), FileSystemHints::Kind::lustre);
  EXPECT_EQ(hints_.kind_of(0xEF53), FileSystemHints::Kind::page_cache) << "ext4";
  const FileSystemHints without(nothing);
  EXPECT_EQ(without.kind_of(gpfs_type), FileSystemHints::Kind::page_cache);
  EXPECT_EQ(without.kind_of(lustre_type), FileSystemHints::Kind::page_cache);
}

TEST_F(FileSystemHintsTest, GpfsGetsItsOwnBlocksEightAtACall) {
  const std::uint64_t from = 3 * block_ + 100;
  hints_.will_need(FileSystemHints::Kind::gpfs, file_.get(), {from, 13 * block_ + 7});
  ASSERT_EQ(recorded.gpfs.size(), 2U);
  const GpfsCalled& first = recorded.gpfs.front();
  EXPECT_EQ(first.total_length, static_cast<int>(sizeof(GpfsCalled)));
  EXPECT_EQ(first.version, 1);
  EXPECT_EQ(first.struct_length, static_cast<int>(sizeof(GpfsCalled)) - 16);
  EXPECT_EQ(first.struct_type, 1003);
  EXPECT_EQ(first.accessed, 8);
  EXPECT_EQ(first.released, 0);
  EXPECT_EQ(first.accesses[0].block, 3);
  EXPECT_EQ(first.accesses[0].start, 100);
  EXPECT_EQ(first.accesses[0].length, static_cast<int>(block_) - 100);
  EXPECT_EQ(first.accesses[0].is_write, 0);
  EXPECT_EQ(first.accesses[7].block, 10);
  const GpfsCalled& second = recorded.gpfs.back();
  EXPECT_EQ(second.accessed, 3);
  EXPECT_EQ(second.accesses[2].block, 13);
  EXPECT_EQ(second.accesses[2].start, 0);
  EXPECT_EQ(second.accesses[2].length, 7);
  EXPECT_EQ(cold_.cached(0, std::size_t{4} << 20), 0U) << "its cache is not the kernel's";
}

TEST_F(FileSystemHintsTest, GpfsIsToldWhatIsReleased) {
  hints_.dont_need(FileSystemHints::Kind::gpfs, file_.get(), {0, 2 * block_});
  ASSERT_EQ(recorded.gpfs.size(), 1U);
  EXPECT_EQ(recorded.gpfs[0].accessed, 0);
  EXPECT_EQ(recorded.gpfs[0].released, 2);
  EXPECT_EQ(recorded.gpfs[0].releases[1].block, 1);
  EXPECT_EQ(recorded.gpfs[0].releases[1].length, static_cast<int>(block_));
}

TEST_F(FileSystemHintsTest, WhereGpfsRefusesItIsNotAskedForTheRest) {
  recorded.gpfs_returns = -1;
  hints_.will_need(FileSystemHints::Kind::gpfs, file_.get(), {0, 100 * block_});
  EXPECT_EQ(recorded.gpfs.size(), 1U);
}

TEST_F(FileSystemHintsTest, LustreHasCachesAtBothEnds) {
  hints_.will_need(FileSystemHints::Kind::lustre, file_.get(), {4096, 1U << 20});
  cold_.await(4096, (1U << 20) - 4096);
  hints_.dont_need(FileSystemHints::Kind::lustre, file_.get(), {0, 4U << 20});
  EXPECT_EQ(cold_.cached(0, std::size_t{4} << 20), 0U);
  ASSERT_EQ(recorded.lustre.size(), 2U);
  EXPECT_EQ(recorded.lustre[0].advice, 1) << "LU_LADVISE_WILLREAD";
  EXPECT_EQ(recorded.lustre[0].start, 4096U);
  EXPECT_EQ(recorded.lustre[0].end, 1U << 20);
  EXPECT_EQ(recorded.lustre[1].advice, 2) << "LU_LADVISE_DONTNEED";
  EXPECT_EQ(recorded.lustre_flags, (std::vector<unsigned long long>{1, 1})) << "LF_ASYNC";
}

TEST_F(FileSystemHintsTest, AllOthersAreToldByThePageCache) {
  hints_.will_need(FileSystemHints::Kind::page_cache, file_.get(), {0, 1U << 20});
  cold_.await(0, 1U << 20);
  hints_.dont_need(FileSystemHints::Kind::page_cache, file_.get(), {0, 1U << 20});
  EXPECT_EQ(cold_.cached(0, 1U << 20), 0U);
  EXPECT_TRUE(recorded.gpfs.empty());
  EXPECT_TRUE(recorded.lustre.empty());
}

}  // namespace
}  // namespace dovetail::prefetching
