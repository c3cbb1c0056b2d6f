// A log that a crash or a faulty device has left incomplete: what is whole counts, up to the first that is not.
#include <cerrno>

#include "staging/log_scan.hpp"
#include "staging/opened_log.hpp"
#include "staging/tier_support.hpp"
#include "storage/support.hpp"

namespace dovetail::staging {
namespace {

// Records of some changes, and the file as it is after each.
class TierTornTest : public TierTest {
 protected:
  /// What the file is after so many changes.
  std::vector<Bytes> states;

  void make(TieredFile& file, std::uint64_t number, std::size_t most_bytes) {
    PlainModel model;
    model.bytes = states.empty() ? Bytes() : states.back();
    if (states.empty()) {
      states.push_back(model.bytes);
    }
    const Change change = Change::some(test::seed(), number, 3000, most_bytes);
    ASSERT_EQ(change.make(file).text(), "");
    change.make(model);
    states.push_back(model.bytes);
  }
  /// Position behind each of its records.
  std::vector<std::uint64_t> ends(const std::string& path) const {
    std::vector<std::uint64_t> found;
    const auto number = static_cast<std::uint32_t>(std::stoul(std::filesystem::path(path).stem(), nullptr, 16));
    const OpenedFolder opened = open_log_folder(FileCalls::system(), log, false);
    const LogSegment::Opened segment = LogSegment::open(FileCalls::system(), opened.folder, number);
    SegmentScan scanned;
    const LogIdentity identity = read_placement(log).placement.value().log;
    EXPECT_EQ(scan(FileCalls::system(), *segment.segment, identity, scanned).text(), "");
    for (const ScannedRecord& each : scanned.records) {
      found.push_back(each.position + each.header.length);
    }
    return found;
  }
  /// What is there if the log is opened now.
  Bytes opened() const {
    const auto file = open();
    return file == nullptr ? Bytes() : all_of(*file);
  }
};

// As a kill in the middle of a write, or a power failure, may leave it.
TEST_F(TierTornTest, ASegmentThatEndsAtAnyByteHasTheRecordsBefore) {
  auto file = open();
  for (std::uint64_t number = 0; number < 6; ++number) {
    make(*file, number, 300);
  }
  file.reset();
  const std::string path = segments().back();
  const Bytes whole = bytes_of(path);
  const std::vector<std::uint64_t> behind = ends(path);
  ASSERT_EQ(behind.size(), 6U);
  ASSERT_EQ(behind.back(), whole.size());
  const std::size_t least = whole.size() - std::min<std::size_t>(whole.size(), test::scaled(2000, 400));
  for (std::size_t bytes = least; bytes <= whole.size(); ++bytes) {
    put(path, std::span(whole).first(bytes));
    const auto records =
        static_cast<std::size_t>(std::ranges::count_if(behind, [&](auto end) { return end <= bytes; }));
    ASSERT_TRUE(same(opened(), states[records])) << bytes << " of " << whole.size() << " bytes are left";
  }
}

// What comes behind the torn record is written into another segment, and counts.
TEST_F(TierTornTest, TheLogGoesOnBehindATornRecord) {
  auto file = open();
  make(*file, 0, 300);
  make(*file, 1, 300);
  file.reset();
  const Bytes whole = bytes_of(segments().back());
  put(segments().back(), std::span(whole).first(whole.size() - 1));
  states.pop_back();
  for (std::uint64_t number = 2; number < 5; ++number) {
    file = open();
    ASSERT_TRUE(same(all_of(*file), states.back()));
    make(*file, number, 300);
    file.reset();
  }
  EXPECT_EQ(segments().size(), 4U);
  ASSERT_TRUE(same(opened(), states.back()));
  ASSERT_EQ(recover(log, settings).failure.text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), states.back()));
}

// A power failure may keep a later page of the log and lose an earlier one.
TEST_F(TierTornTest, AWriteBehindOneThatWasLostDoesNotCount) {
  settings.segment_bytes = 200;
  auto file = open();
  for (std::uint64_t number = 0; number < 12; ++number) {
    make(*file, number, 300);
  }
  file.reset();
  const std::vector<std::string> found = segments();
  ASSERT_GE(found.size(), 3U);
  std::size_t before = 0;
  for (std::size_t i = 0; i + 1 < found.size(); ++i) {
    const Bytes whole = bytes_of(found[i]);
    const std::size_t records = ends(found[i]).size();
    put(found[i], std::span(whole).first(whole.size() - 1));
    EXPECT_TRUE(same(opened(), states[before + records - 1])) << "segment " << i;
    put(found[i], whole);
    before += records;
  }
  EXPECT_TRUE(same(opened(), states.back()));
}

// Their numbers are given again. So after the new ones are drained, an old one would seem to be the next.
TEST_F(TierTornTest, WhatAnOpeningLeftOutNeverComesBack) {
  settings.segment_bytes = 1;  // a segment for each record
  auto file = open();
  for (std::uint64_t number = 0; number < 8; ++number) {
    make(*file, number, 300);
  }
  file.reset();
  const Bytes whole = bytes_of(segments()[3]);
  put(segments()[3], std::span(whole).first(whole.size() - 1));
  states.resize(4);
  file = open();
  make(*file, 100, 300);
  make(*file, 101, 300);
  // Drained and noted, and killed before the space was given back.
  calls.before = [](const WatchedCalls::Asked& asked) {
    return WatchedCalls::Fault{.error = asked.kind == WatchedCalls::Kind::remove ? EIO : 0};
  };
  EXPECT_EQ(file->drain().error, EIO);
  calls.before = [](const WatchedCalls::Asked&) { return WatchedCalls::Fault{}; };
  file.reset();
  ASSERT_TRUE(same(opened(), states.back()));
  ASSERT_EQ(recover(log, settings).failure.text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), states.back()));
}

// Whichever bit of the log changes: what was durable is there, or the damage is told.
TEST_F(TierTornTest, AChangedBitIsNeverTakenForData) {
  auto file = open();
  for (std::uint64_t number = 0; number < 5; ++number) {
    make(*file, number, 1500);
  }
  ASSERT_EQ(file->sync().text(), "");
  file.reset();
  const std::string path = segments().back();
  const Bytes whole = bytes_of(path);
  const std::uint64_t note = whole.size() - header_bytes;
  std::mt19937_64 random(test::seed());
  unsigned told = 0;
  for (std::size_t byte = 0; byte < whole.size(); byte += 1 + random() % test::scaled(3, 20)) {
    Bytes changed = whole;
    changed[byte] ^= static_cast<std::byte>(1U << random() % 8);
    put(path, changed);
    const FileFailure failure = TieredFile::open(log, final_path, settings).failure;
    if (byte >= note) {
      // The note that it was durable, of which nobody is told.
      EXPECT_EQ(failure.text(), "") << "byte " << byte;
      EXPECT_TRUE(same(opened(), states.back())) << "byte " << byte;
      continue;
    }
    ++told;
    ASSERT_EQ(failure.error, EBADMSG) << "byte " << byte;
    EXPECT_EQ(failure.path, path);
    EXPECT_LE(failure.offset, byte);
    ASSERT_EQ(recover(log, settings).failure.error, EBADMSG) << "byte " << byte;
    ASSERT_TRUE(same(bytes_of(path), changed)) << "it is kept as it is";
  }
  EXPECT_GT(told, 20U);
  EXPECT_EQ(bytes_of(final_path).size(), 0U);
}

TEST_F(TierTornTest, WhatIsLeftCanBeTakenNevertheless) {
  auto file = open();
  for (std::uint64_t number = 0; number < 5; ++number) {
    make(*file, number, 100);
  }
  ASSERT_EQ(file->sync().text(), "");
  file.reset();
  const std::string path = segments().back();
  const std::vector<std::uint64_t> behind = ends(path);
  Bytes bytes = bytes_of(path);
  bytes[behind[2] + 8] ^= std::byte{1};
  put(path, bytes);
  EXPECT_EQ(TieredFile::open(log, final_path, settings).failure.error, EBADMSG);
  settings.take_what_is_left = true;
  file = open();
  ASSERT_NE(file, nullptr);
  EXPECT_TRUE(same(all_of(*file), states[3]));
  states.resize(4);
  make(*file, 50, 100);
  // Nor does it in a later opening: the lost records are nothing that this log has promised.
  file.reset();
  settings.take_what_is_left = false;
  file = open();
  ASSERT_NE(file, nullptr);
  EXPECT_TRUE(same(all_of(*file), states.back()));
  std::size_t syncs = 0;
  calls.before = [&](const WatchedCalls::Asked& asked) {
    syncs += asked.kind == WatchedCalls::Kind::sync && asked.is_log() ? 1 : 0;
    return WatchedCalls::Fault{};
  };
  ASSERT_EQ(file->sync().text(), "");
  EXPECT_EQ(syncs, 2U) << "what is lost does not stand for what is new";
  ASSERT_EQ(file->finish().text(), "");
  EXPECT_TRUE(same(bytes_of(final_path), states.back()));
}

TEST_F(TierTornTest, ALostSegmentIsTold) {
  settings.segment_bytes = 200;
  auto file = open();
  for (std::uint64_t number = 0; number < 12; ++number) {
    make(*file, number, 300);
  }
  ASSERT_EQ(file->sync().text(), "");
  file.reset();
  const std::vector<std::string> found = segments();
  ASSERT_GE(found.size(), 3U);
  for (std::size_t i = 0; i + 1 < found.size(); ++i) {
    std::filesystem::rename(found[i], found[i] + ".away");
    EXPECT_EQ(TieredFile::open(log, final_path, settings).failure.error, EBADMSG) << "segment " << i;
    std::filesystem::rename(found[i] + ".away", found[i]);
  }
  EXPECT_TRUE(same(opened(), states.back()));
}

// Data that looks like records of this very log, behind a torn record, are no records.
TEST_F(TierTornTest, RecordsInsideOfDataAreNotBelieved) {
  auto file = open();
  make(*file, 0, 300);
  file.reset();
  const Bytes copied = bytes_of(segments().back());
  file = open();
  const Bytes before = all_of(*file);
  ASSERT_EQ(file->write(5000, copied).text(), "");
  ASSERT_EQ(file->write(6000, copied).text(), "");
  file.reset();
  const std::string path = segments().back();
  Bytes bytes = bytes_of(path);
  bytes[header_bytes + 3] ^= std::byte{1};
  put(path, bytes);
  EXPECT_TRUE(same(opened(), before));
}

}  // namespace
}  // namespace dovetail::staging
