// What a program with tasks finds of a file that has been on more than one tier.
#include "staging/generation_support.hpp"
#include "staging/placement.hpp"
#include "staging/shared_tiered_file.hpp"
#include "staging/tier_folders.hpp"

namespace dovetail::staging {
namespace {

using SharedGenerationTest = TierGenerationTest;

// What the ranks of a killed job have left comes into the file, and what was superseded stays beside it.
TEST_F(SharedGenerationTest, TasksRecoverWhatRanksHaveLeft) {
  {
    settings.shared = true;
    settings.generation = take_generation(final_path, tier, 7).generation;
    for (const unsigned rank : {0U, 1U}) {
      TieredFile::Opened opened = TieredFile::open(writer_folder(log, rank), final_path, settings);
      ASSERT_EQ(opened.failure.text(), "");
      ASSERT_EQ(opened.file->write(rank * older.size(), older).text(), "");
    }
  }
  SharedTieredFile::Opened opened = SharedTieredFile::open(tier, final_path);
  ASSERT_EQ(opened.failure.text(), "");
  EXPECT_EQ(opened.file->file().size(), 2 * older.size());
  EXPECT_EQ(bytes_of(final_path).size(), 2 * older.size());
  EXPECT_FALSE(std::filesystem::exists(writer_folder(log, 0)));
  ASSERT_EQ(opened.file->close().text(), "");
}

TEST_F(SharedGenerationTest, TasksGetAnotherLogWhereTheirsWasSuperseded) {
  ASSERT_EQ(open()->write(0, older).text(), "");
  ASSERT_EQ(open_other().failure.text(), "");
  testing::internal::CaptureStderr();
  SharedTieredFile::Opened opened = SharedTieredFile::open(tier, final_path);
  const SharedTieredFile::Opened second = SharedTieredFile::open(tier, final_path);
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_EQ(opened.failure.text() + second.failure.text(), "");
  EXPECT_EQ(opened.file, second.file);
  EXPECT_NE(said.find(log + " has what was written"), std::string::npos) << said;
  EXPECT_NE(said.find(other_tier), std::string::npos) << said;
  ASSERT_EQ(opened.file->file().write(0, newer).text(), "");
  ASSERT_EQ(opened.file->close().text(), "");
  ASSERT_EQ(second.file->close().text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), newer));
  EXPECT_EQ(segments().size(), 1U);
}

// Its log is not the first one, which was superseded and left.
TEST_F(SharedGenerationTest, SecondProcessIsRefusedWhileTheFirstHasAnotherLog) {
  ASSERT_EQ(open()->write(0, older).text(), "");
  ASSERT_EQ(open_other().failure.text(), "");
  auto first = TieredFile::open(writer_folder(log, 0), final_path, settings).file;
  ASSERT_EQ(first->write(0, newer).text(), "");
  const FileFailure failure = SharedTieredFile::open(tier, final_path).failure;
  EXPECT_EQ(failure.error, EBUSY);
  EXPECT_NE(failure.text().find(writer_folder(log, 0)), std::string::npos) << failure.text();
  EXPECT_EQ(first->finish().text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), newer));
}

TEST_F(SharedGenerationTest, DamagedLogThatWasSupersededDoesNotKeepOthersFromTheFile) {
  {
    auto file = open();
    ASSERT_EQ(file->write(0, older).text(), "");
    ASSERT_EQ(file->sync().text(), "");
  }
  Bytes bytes = bytes_of(segments().front());
  bytes[header_bytes * 2 + 500] ^= std::byte{1};
  put(segments().front(), bytes);
  EXPECT_EQ(TieredFile::open(log, final_path, settings).failure.error, EBADMSG);
  ASSERT_EQ(open_other().failure.text(), "");
  const SharedTieredFile::Opened opened = SharedTieredFile::open(tier, final_path);
  ASSERT_EQ(opened.failure.text(), "");
  ASSERT_EQ(opened.file->close().text(), "");
  EXPECT_TRUE(same(bytes_of(segments().front()), bytes));
}

// The second log of a task has a number, as that of a rank.
TEST_F(SharedGenerationTest, SizeThatATaskHasSetSurvivesInItsSecondLog) {
  ASSERT_EQ(open()->write(0, older).text(), "");
  ASSERT_EQ(open_other().failure.text(), "");
  for (const bool is_set : {false, true}) {
    SharedTieredFile::Opened opened = SharedTieredFile::open(tier, final_path);
    ASSERT_EQ(opened.failure.text(), "");
    if (is_set) {
      EXPECT_EQ(opened.file->file().size(), 5000U);
      ASSERT_EQ(opened.file->close().text(), "");
      EXPECT_EQ(bytes_of(final_path).size(), 5000U);
      continue;
    }
    ASSERT_EQ(opened.file->file().set_size(5000).text(), "");
    ASSERT_EQ(opened.file->file().sync().text(), "");
    EXPECT_TRUE(std::filesystem::exists(writer_folder(log, 0)));
  }
}

}  // namespace
}  // namespace dovetail::staging
