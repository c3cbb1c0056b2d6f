// What a final file says of its logs: which of them count, and where they are.
#include <sys/wait.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "staging/generation_support.hpp"
#include "staging/placement.hpp"
#include "staging/shared_tiered_file.hpp"
#include "staging/tier_folders.hpp"
#include "staging/waiting.hpp"
#include "storage/fault_folder.hpp"

namespace dovetail::staging {
namespace {

using Kind = WatchedCalls::Kind;
using Asked = WatchedCalls::Asked;
using Fault = WatchedCalls::Fault;

TEST_F(TierGenerationTest, FileNamesTheTierUntilAllIsDrainedAndClosed) {
  auto file = open();
  EXPECT_EQ(named(), std::vector{tier_here(tier)});
  ASSERT_EQ(file->write(0, older).text(), "");
  ASSERT_EQ(file->drain().text(), "");
  EXPECT_EQ(named(), std::vector{tier_here(tier)});
  ASSERT_EQ(file->finish().text(), "");
  EXPECT_TRUE(named().empty());
  EXPECT_FALSE(mark().generation.is_none());
}

TEST_F(TierGenerationTest, MarkGoesWithTheFileAndNotWithItsCopy) {
  auto file = open();
  ASSERT_EQ(file->write(0, older).text(), "");
  const std::string copy = folder / "copy";
  ASSERT_EQ(::system(("cp --preserve=all " + final_path + " " + copy).c_str()), 0);
  const std::string renamed = folder / "renamed";
  std::filesystem::rename(final_path, renamed);
  final_path = renamed;
  EXPECT_EQ(named(), std::vector{tier_here(tier)});
  final_path = copy;
  EXPECT_TRUE(named().empty());
}

TEST_F(TierGenerationTest, LogThatWasLeftIsContinued) {
  ASSERT_EQ(open()->write(0, older).text(), "");
  const Generation generation = mark().generation;
  auto file = open();
  EXPECT_EQ(file->generation(), generation);
  EXPECT_EQ(mark().generation, generation);
  EXPECT_TRUE(same(all_of(*file), older));
  ASSERT_EQ(file->finish().text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), older));
}

TEST_F(TierGenerationTest, OldLogIsNotDrainedOverWhatIsNewer) {
  ASSERT_EQ(open()->write(0, older).text(), "");
  TieredFile::Opened second = open_other();
  ASSERT_EQ(second.failure.text(), "");
  ASSERT_EQ(second.elsewhere.size(), 1U);
  EXPECT_EQ(second.elsewhere[0].tier, tier_here(tier));
  EXPECT_EQ(named(), std::vector{tier_here(other_tier)});
  ASSERT_EQ(second.file->write(0, newer).text(), "");
  ASSERT_EQ(second.file->finish().text(), "");
  const TieredFile::Opened again = TieredFile::open(log, final_path, settings);
  EXPECT_EQ(again.failure.error, ESTALE);
  EXPECT_TRUE(again.is_superseded);
  EXPECT_EQ(recover(log, settings).failure.error, ESTALE);
  const WriterRecovery recovery = recover_writers(log, settings);
  EXPECT_EQ(recovery.superseded, std::vector{log});
  EXPECT_TRUE(recovery.orphans.empty());
  EXPECT_TRUE(same(bytes_of(final_path), newer));
  ASSERT_FALSE(segments().empty());
  TierSettings over = settings;
  over.over_newer = true;
  EXPECT_EQ(recover(log, over).failure.text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), older));
  EXPECT_TRUE(named().empty());
}

// The job has drained all, and was killed before it has closed the file.
TEST_F(TierGenerationTest, DrainedLogThatWasSupersededIsRemovedWithoutAWord) {
  for (const bool by_command : {true, false}) {
    {
      auto file = open();
      ASSERT_EQ(file->write(0, older).text(), "");
      ASSERT_EQ(file->drain().text(), "");
    }
    TieredFile::Opened second = open_other();
    ASSERT_EQ(second.failure.text(), "");
    ASSERT_EQ(second.file->write(0, newer).text(), "");
    if (by_command) {
      EXPECT_EQ(recover(log, settings).failure.text(), "");
    } else {
      const WriterRecovery recovery = recover_writers(log, settings);
      EXPECT_EQ(recovery.failure.text(), "");
      EXPECT_EQ(recovery.recovered.size() + recovery.orphans.size() + recovery.superseded.size(), 0U);
    }
    EXPECT_FALSE(std::filesystem::exists(log));
    EXPECT_EQ(named(), std::vector{tier_here(other_tier)});
    EXPECT_EQ(second.file->finish().text(), "");
    Bytes expected = older;
    std::ranges::copy(newer, expected.begin());
    EXPECT_TRUE(same(bytes_of(final_path), expected));
  }
}

TEST_F(TierGenerationTest, RecoveryByASymbolicLinkTakesTheNameOff) {
  ASSERT_EQ(open()->write(0, older).text(), "");
  std::filesystem::create_directory_symlink(tier, folder / "link");
  const std::string by_link = std::filesystem::absolute(folder / "link") / std::filesystem::path(log).filename();
  EXPECT_EQ(recover(by_link, settings).failure.text(), "");
  EXPECT_TRUE(named().empty());
  EXPECT_TRUE(same(bytes_of(final_path), older));
}

TEST_F(TierGenerationTest, TiersWithLongPathsAreKnownAgain) {
  const std::string deep = tier + '/' + std::string(200, 'a') + '/' + std::string(200, 'b');
  for (const char* const name : {"/1", "/2"}) {
    const std::string path = deep + name;
    std::filesystem::create_directories(path);
    const std::string in_it = folder_of(path, final_path).folder;
    ASSERT_EQ(TieredFile::open(in_it, final_path, settings).file->write(0, older).text(), "");
    const TieredFile::Opened again = TieredFile::open(in_it, final_path, settings);
    ASSERT_EQ(again.failure.text(), "");
    EXPECT_TRUE(again.elsewhere.empty());
    EXPECT_EQ(staged_elsewhere(final_path, tier, 7).size(), 1U);
  }
  EXPECT_NE(tier_here(deep + "/1"), tier_here(deep + "/2"));
}

// The program has made the file read-only before it closes it.
TEST_F(TierGenerationTest, NameThatCannotBeTakenOffDoesNotFailTheClose) {
  auto file = open();
  ASSERT_EQ(file->write(0, older).text(), "");
  bool is_drained = false;
  calls.at = [&](CrashPoint point) { is_drained = is_drained || point == CrashPoint::folder_emptied; };
  calls.before = [&](const Asked& asked) {
    return Fault{.error = is_drained && asked.kind == Kind::attribute ? EACCES : 0};
  };
  EXPECT_EQ(file->finish().text(), "");
  EXPECT_FALSE(std::filesystem::exists(log));
  EXPECT_TRUE(same(bytes_of(final_path), older));
}

// Both have the file open: the older one fails, and keeps what it has.
TEST_F(TierGenerationTest, DrainOfTheOlderOfTwoJobsFails) {
  auto first = open();
  ASSERT_EQ(first->write(0, older).text(), "");
  TieredFile::Opened second = open_other();
  ASSERT_EQ(second.failure.text(), "");
  EXPECT_EQ(first->sync().error, ESTALE);
  EXPECT_EQ(first->drain().error, ESTALE);
  ASSERT_EQ(second.file->write(100, newer).text(), "");
  ASSERT_EQ(second.file->finish().text(), "");
  const FileFailure failure = first->finish();
  EXPECT_EQ(failure.error, ESTALE);
  EXPECT_NE(failure.text().find("cannot drain " + log), std::string::npos) << failure.text();
  EXPECT_NE(failure.text().find("--over-newer"), std::string::npos) << failure.text();
  EXPECT_EQ(first->write_through(0, older).error, ESTALE);
  EXPECT_TRUE(same(all_of(*first), older));
  Bytes expected(100);
  expected.insert(expected.end(), newer.begin(), newer.end());
  EXPECT_TRUE(same(bytes_of(final_path), expected));
  first.reset();
  TierSettings over = settings;
  over.over_newer = true;
  EXPECT_EQ(recover(log, over).failure.text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), older));
}

// A reader on another node is told what it does not see, and takes nothing from the writer.
TEST_F(TierGenerationTest, ReaderSupersedesNobody) {
  auto writer = open();
  ASSERT_EQ(writer->write(0, older).text(), "");
  settings.reads_only = true;
  TieredFile::Opened reader = open_other();
  ASSERT_EQ(reader.failure.text(), "");
  ASSERT_EQ(reader.elsewhere.size(), 1U);
  EXPECT_EQ(reader.elsewhere[0].tier, tier_here(tier));
  EXPECT_EQ(named(), std::vector{tier_here(tier)});
  EXPECT_EQ(reader.file->sync().text(), "");
  EXPECT_EQ(writer->drain().text(), "");
  EXPECT_EQ(reader.file->finish().text(), "");
  EXPECT_FALSE(std::filesystem::exists(other_log));
  EXPECT_EQ(writer->finish().text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), older));
}

TEST_F(TierGenerationTest, FirstOpeningForWritingSupersedes) {
  auto other = open_other().file;
  ASSERT_EQ(other->write(0, older).text(), "");
  testing::internal::CaptureStderr();
  settings.reads_only = true;
  SharedTieredFile::Opened reader = SharedTieredFile::open(tier, final_path, settings);
  ASSERT_EQ(reader.failure.text(), "");
  EXPECT_EQ(named(), std::vector{tier_here(other_tier)});
  settings.reads_only = false;
  SharedTieredFile::Opened writer = SharedTieredFile::open(tier, final_path, settings);
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_EQ(writer.failure.text(), "");
  EXPECT_EQ(writer.file, reader.file);
  EXPECT_NE(said.find(other_tier), std::string::npos) << said;
  EXPECT_EQ(named(), std::vector{tier_here(tier)});
  EXPECT_EQ(writer.file->file().generation(), mark().generation);
  ASSERT_EQ(writer.file->file().write(0, newer).text(), "");
  EXPECT_EQ(other->drain().error, ESTALE);
  EXPECT_EQ(reader.file->close().text(), "");
  EXPECT_EQ(writer.file->close().text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), newer));
}

// However long it is, and also where it has lost something: neither keeps others from the file.
TEST_F(TierGenerationTest, OldLogIsRefusedByItsNewestSegment) {
  {
    auto file = open();
    for (int number = 0; number < 10; ++number) {
      ASSERT_EQ(file->write(0, Bytes(settings.segment_bytes)).text(), "");
    }
    ASSERT_EQ(file->sync().text(), "");
  }
  const std::vector<std::string> all = segments();
  ASSERT_GE(all.size(), 10U);
  std::filesystem::resize_file(all.front(), 100);
  ASSERT_EQ(TieredFile::open(log, final_path, settings).failure.error, EBADMSG);
  ASSERT_EQ(open_other().failure.text(), "");
  std::size_t read_elsewhere = 0;
  calls.before = [&](const Asked& asked) {
    read_elsewhere += asked.kind == Kind::read && asked.is_log() && asked.path() != all.back() ? 1 : 0;
    return Fault{};
  };
  EXPECT_TRUE(TieredFile::open(log, final_path, settings).is_superseded);
  const Recovery recovery = recover(log, settings);
  EXPECT_TRUE(recovery.is_superseded);
  EXPECT_FALSE(recovery.had_something);
  EXPECT_EQ(read_elsewhere, 0U);
  EXPECT_EQ(segments(), all);
}

// A record behind the note of a drain, and one whose header nobody can read: both are something that is not drained.
TEST_F(TierGenerationTest, OldLogIsNotDrainedWhereItGoesOnBehindTheNote) {
  for (const bool is_torn : {false, true}) {
    {
      auto file = open();
      ASSERT_EQ(file->write(0, older).text(), "");
      ASSERT_EQ(file->drain().text(), "");
      ASSERT_EQ(file->write(0, older).text(), "");
      ASSERT_EQ(file->sync().text(), "");
    }
    ASSERT_EQ(open_other().failure.text(), "");
    if (is_torn) {
      std::fstream(segments().back(), std::ios::in | std::ios::out | std::ios::binary).write("torn", 4);
    }
    EXPECT_TRUE(recover(log, settings).is_superseded) << is_torn;
    ASSERT_EQ(discard(log, calls).text(), "");
    ASSERT_EQ(discard(other_log, calls).text(), "");
  }
}

// It is superseded while it drains: it may have written over what is newer, and says so.
TEST_F(TierGenerationTest, DrainThatIsSupersededMeanwhileFails) {
  auto first = open();
  ASSERT_EQ(first->write(0, older).text(), "");
  std::unique_ptr<TieredFile> second;
  calls.at = [&](CrashPoint point) {
    if (point == CrashPoint::piece_written && second == nullptr) {
      second = TieredFile::open(other_log, final_path).file;
    }
  };
  EXPECT_EQ(first->drain().error, ESTALE);
  calls.at = [](CrashPoint) {};
  ASSERT_NE(second, nullptr);
  first.reset();
  EXPECT_EQ(recover(log, settings).failure.error, ESTALE);
  EXPECT_FALSE(segments().empty());
}

TEST_F(TierGenerationTest, LastLogOfATierTakesItsNameOff) {
  const TakenGeneration taken = take_generation(final_path, tier, 7);
  ASSERT_EQ(taken.failure.text(), "");
  settings.shared = true;
  settings.generation = taken.generation;
  TieredFile::Opened first = TieredFile::open(writer_folder(log, 0), final_path, settings);
  TieredFile::Opened second = TieredFile::open(writer_folder(log, 1), final_path, settings);
  ASSERT_EQ(first.failure.text() + second.failure.text(), "");
  ASSERT_EQ(first.file->write(0, older).text(), "");
  ASSERT_EQ(first.file->finish().text(), "");
  EXPECT_EQ(named(), std::vector{tier_here(tier)});
  ASSERT_EQ(second.file->finish(true).text(), "");
  EXPECT_TRUE(named().empty());
  EXPECT_TRUE(std::filesystem::exists(writer_folder(log, 1)));
  second.file.reset();
  EXPECT_EQ(recover(writer_folder(log, 1), settings).failure.text(), "");
}

TEST_F(TierGenerationTest, ProcessesOfAJobTakeOneGeneration) {
  const Generation first = take_generation(final_path, tier, 7).generation;
  EXPECT_FALSE(first.is_none());
  EXPECT_EQ(take_generation(final_path, other_tier, 7).generation, first);
  const Generation other = take_generation(final_path, tier, 8).generation;
  EXPECT_NE(other, first);
  const Generation third = take_generation(final_path, tier, 7).generation;
  EXPECT_NE(third, first) << "its old logs would count again";
  EXPECT_EQ(mark().generation, third);
}

// Both read the mark before either has set it.
TEST_F(TierGenerationTest, ProcessesThatOpenAtOnceAgree) {
  WatchedCalls late;
  Generation inner;
  late.before = [&](const Asked& asked) {
    if (asked.kind == Kind::attribute && inner.is_none()) {
      inner = {.job = 1, .opening = 1};  // this may come here again
    } else if (asked.kind == Kind::attribute && inner.opening == 1) {
      inner = take_generation(final_path, tier, 7).generation;
    }
    return Fault{};
  };
  EXPECT_EQ(take_generation(final_path, other_tier, 7, late).generation, inner);
}

// One has named its tier, and not yet set its generation, when the other does both.
TEST_F(TierGenerationTest, OpeningsAtOnceLeaveEachOthersNames) {
  ASSERT_EQ(open()->finish().text(), "");
  std::unique_ptr<TieredFile> inner;
  WatchedCalls outer;
  outer.at = [&](CrashPoint point) {
    if (point == CrashPoint::tier_noted && inner == nullptr) {
      inner = open();
    }
  };
  TierSettings own = settings;
  own.calls = &outer;
  const TieredFile::Opened opened = TieredFile::open(other_log, final_path, own);
  ASSERT_EQ(opened.failure.text(), "");
  ASSERT_NE(inner, nullptr);
  EXPECT_EQ(mark().generation, opened.file->generation());
  EXPECT_EQ(named(), std::vector{tier_here(other_tier)});
}

TEST_F(TierGenerationTest, DeferredCloseIsSeenElsewhere) {
  settings.generation = take_generation(final_path, tier, 7).generation;
  auto file = open();
  ASSERT_EQ(file->write(0, older).text(), "");
  EXPECT_TRUE(take_generation(final_path, other_tier, 7).elsewhere.empty()) << "the job has it open";
  ASSERT_EQ(file->note_closed().text(), "");
  const TakenGeneration taken = take_generation(final_path, other_tier, 7);
  ASSERT_EQ(taken.elsewhere.size(), 1U);
  EXPECT_TRUE(taken.elsewhere[0].is_closed);
  const std::string text = text_of_elsewhere(taken.elsewhere[0], final_path);
  EXPECT_NE(text.find(tier), std::string::npos) << text;
  EXPECT_NE(text.find("recover"), std::string::npos) << text;
}

// Its process drains it behind the program: whoever recovers what others have left waits for that.
TEST_F(TierGenerationTest, ClosedLogIsWaitedFor) {
  settings.shared = true;
  settings.generation = take_generation(final_path, tier, 7).generation;
  TieredFile::Opened closed = TieredFile::open(writer_folder(log, 0), final_path, settings);
  ASSERT_EQ(closed.failure.text(), "");
  ASSERT_EQ(closed.file->write(0, older).text(), "");
  WriterRecovery recovery = recover_writers(log, settings);
  EXPECT_EQ(recovery.failure.text(), "") << "one that is open is left alone";
  ASSERT_EQ(closed.file->note_closed().text(), "");
  std::atomic<bool> has_ended = false;
  std::jthread waiter([&] {
    recovery = recover_writers(log, settings);
    has_ended = true;
  });
  while (!test::is_waited_for(writer_folder(log, 0))) {
    ASSERT_FALSE(has_ended) << "it does not wait";
    std::this_thread::yield();
  }
  // The drain has failed, and its process gives the log back.
  closed.file.reset();
  waiter.join();
  EXPECT_EQ(recovery.recovered, std::vector{writer_folder(log, 0)});
  EXPECT_TRUE(same(bytes_of(final_path), older));
}

// NFS before version 4.2, for example: as if nobody ever opened the file elsewhere.
TEST_F(TierGenerationTest, WithoutAttributesAllGoesOn) {
  calls.before = [](const Asked& asked) { return Fault{.error = asked.kind == Kind::attribute ? EOPNOTSUPP : 0}; };
  ASSERT_EQ(open()->write(0, older).text(), "");
  auto file = open();
  EXPECT_TRUE(file->generation().is_none());
  EXPECT_TRUE(same(all_of(*file), older));
  ASSERT_EQ(file->finish().text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), older));
  const TakenGeneration taken = take_generation(final_path, tier, 7, calls);
  EXPECT_TRUE(taken.generation.is_none());
  EXPECT_EQ(taken.failure.text(), "");
  EXPECT_TRUE(mark().generation.is_none());
}

TEST_F(TierGenerationTest, WithoutSpaceForNamesTheGenerationStillCounts) {
  WatchedCalls full;
  unsigned attributes = 0;
  full.before = [&](const Asked& asked) {
    attributes += asked.kind == Kind::attribute ? 1 : 0;
    return Fault{.error = asked.kind == Kind::attribute && attributes == 3 ? ENOSPC : 0};
  };
  settings.calls = &full;
  ASSERT_EQ(open()->write(0, older).text(), "");
  EXPECT_TRUE(named().empty());
  settings.calls = &calls;
  ASSERT_EQ(open_other().failure.text(), "");
  EXPECT_EQ(recover(log, settings).failure.error, ESTALE);
}

TEST_F(TierGenerationTest, AttributeThatFailsIsToldWithItsFile) {
  calls.before = [](const Asked& asked) { return Fault{.error = asked.kind == Kind::attribute ? EIO : 0}; };
  const FileFailure failure = TieredFile::open(log, final_path, settings).failure;
  EXPECT_EQ(failure.error, EIO);
  EXPECT_EQ(failure.path, final_path);
}

TEST_F(TierGenerationTest, MarkOfALaterVersionIsNotTakenForNone) {
  ASSERT_EQ(::setxattr(final_path.c_str(), "user.dovetail.generation", "new", 3, 0), 0);
  EXPECT_EQ(TieredFile::open(log, final_path, settings).failure.error, EBADMSG);
}

// An earlier version left it, and nobody has opened the file since.
TEST_F(TierGenerationTest, LogWithoutAGenerationIsRecovered) {
  calls.before = [](const Asked& asked) { return Fault{.error = asked.kind == Kind::attribute ? EOPNOTSUPP : 0}; };
  ASSERT_EQ(open()->write(0, older).text(), "");
  calls.before = [](const Asked&) { return Fault{}; };
  ASSERT_EQ(open()->write(older.size(), newer).text(), "");
  ASSERT_EQ(open_other().failure.text(), "");
  EXPECT_EQ(recover(log, settings).failure.error, ESTALE);
  TierSettings over = settings;
  over.over_newer = true;
  EXPECT_EQ(recover(log, over).failure.text(), "");
  EXPECT_EQ(bytes_of(final_path).size(), older.size() + newer.size());
}

}  // namespace
}  // namespace dovetail::staging
