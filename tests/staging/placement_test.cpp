// What a folder of the tier says of the file that it belongs to.
#include "staging/placement.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "staging/tier_support.hpp"

namespace dovetail::staging {
namespace {

Placement some_placement(const std::string& path) {
  return {.final_path = path,
          .final_file = {.inode = 77, .born_seconds = 1'700'000'000, .born_nanoseconds = 5},
          .log = 0xabcdef};
}

TEST(PlacementTest, IsReadAsItWasWritten) {
  for (const std::string path : {"/a", "/data/check point\n2\n", "/\xff\xfe", "/path checksum 0"}) {
    EXPECT_EQ(placement_of(text_of(some_placement(path))), some_placement(path));
  }
}

TEST(PlacementTest, NoPartAndNoChangedByteIsTakenForOne) {
  const std::string text = text_of(some_placement("/data/file"));
  for (std::size_t bytes = 0; bytes < text.size(); ++bytes) {
    EXPECT_FALSE(placement_of(text.substr(0, bytes))) << bytes << " bytes";
    std::string changed = text;
    changed[bytes] = static_cast<char>(changed[bytes] ^ 1);
    EXPECT_FALSE(placement_of(changed)) << "byte " << bytes;
  }
  EXPECT_FALSE(placement_of(text + "x"));
}

using PlacementFolderTest = TierTest;

TEST_F(PlacementFolderTest, TheFolderOfAFileDoesNotDependOnLinks) {
  std::filesystem::create_symlink(final_path, folder / "link");
  EXPECT_EQ(folder_of(tier, folder / "link").folder, log);
  put(folder / "other", {});
  EXPECT_NE(folder_of(tier, folder / "other").folder, log);
  EXPECT_EQ(folder_of(tier, folder / "missing").failure.error, ENOENT);
}

TEST_F(PlacementFolderTest, AnotherFileOfThatNameIsNotTakenForIt) {
  ASSERT_EQ(open()->write(0, test::random_bytes(100, 1)).text(), "");
  // While the old one exists, the new one cannot have its inode.
  std::filesystem::rename(final_path, folder / "old");
  put(final_path, {});
  EXPECT_EQ(TieredFile::open(log, final_path, settings).failure.error, ESTALE);
  EXPECT_EQ(recover(log, settings).failure.error, ESTALE);
  EXPECT_EQ(bytes_of(final_path).size(), 0U);
  std::filesystem::rename(folder / "old", final_path);
  EXPECT_EQ(recover(log, settings).failure.text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), test::random_bytes(100, 1)));
}

TEST_F(PlacementFolderTest, AFolderOfAnotherFileIsRefused) {
  open();
  put(folder / "other", {});
  const FileFailure failure = TieredFile::open(log, std::filesystem::path(final_path).parent_path() / "other").failure;
  EXPECT_EQ(failure.error, ESTALE);
  EXPECT_NE(failure.text().find(final_path), std::string::npos) << failure.text();
}

TEST_F(PlacementFolderTest, AFolderThatOthersMayWriteIntoIsRefused) {
  std::filesystem::create_directory(log);
  ASSERT_EQ(chmod(log.c_str(), 0770), 0);
  EXPECT_EQ(TieredFile::open(log, final_path, settings).failure.error, EPERM);
  ASSERT_EQ(chmod(log.c_str(), 0700), 0);
  std::filesystem::rename(log, log + ".moved");
  std::filesystem::create_symlink(log + ".moved", log);
  EXPECT_NE(TieredFile::open(log, final_path, settings).failure.error, 0);
}

TEST_F(PlacementFolderTest, OneHasItAtATime) {
  auto file = open();
  EXPECT_EQ(TieredFile::open(log, final_path, settings).failure.error, EBUSY);
  EXPECT_EQ(recover(log, settings).failure.error, EBUSY);
  file.reset();
  EXPECT_NE(open(), nullptr);
}

TEST_F(PlacementFolderTest, SegmentsWithoutAPlacementAreKept) {
  ASSERT_EQ(open()->write(0, test::random_bytes(100, 1)).text(), "");
  std::filesystem::remove(log + "/placement");
  EXPECT_EQ(TieredFile::open(log, final_path, settings).failure.error, EBADMSG);
  EXPECT_EQ(recover(log, settings).failure.error, EBADMSG);
  EXPECT_EQ(segments().size(), 1U);
}

TEST_F(PlacementFolderTest, AFolderOfSomethingElseIsNotRecovered) {
  ASSERT_NE(open(), nullptr);
  EXPECT_EQ(recover(tier, settings).failure.error, EINVAL);
  EXPECT_TRUE(std::filesystem::exists(log));
}

TEST_F(PlacementFolderTest, PathsThatDependOnTheWorkingFolderAreRefused) {
  EXPECT_EQ(TieredFile::open(log, "final", settings).failure.error, EINVAL);
  EXPECT_EQ(TieredFile::open("tier/log", final_path, settings).failure.error, EINVAL);
  EXPECT_EQ(TieredFile::open(log + "/", final_path, settings).failure.error, EINVAL);
}

TEST_F(PlacementFolderTest, NamesThatNoSegmentHasAreLeftAlone) {
  ASSERT_EQ(open()->write(0, test::random_bytes(100, 1)).text(), "");
  for (const char* name : {"/0000000A.log", "/80000000.log", "/1.log"}) {
    put(log + name, {});
  }
  const auto file = open();
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->size(), 100U);
}

TEST_F(PlacementFolderTest, NothingToRecoverIsNoFailure) {
  EXPECT_EQ(recover(log, settings).failure.text(), "");
  ASSERT_EQ(::mkdir(log.c_str(), 0700), 0);
  put(log + "/placement.new", test::random_bytes(10, 1));
  EXPECT_EQ(recover(log, settings).failure.text(), "");
  EXPECT_FALSE(std::filesystem::exists(log));
}

}  // namespace
}  // namespace dovetail::staging
