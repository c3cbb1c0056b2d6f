// What the table of detection knows of each file, whatever others write into its memory.
// One thread.
#include "prefetch/detection_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <random>
#include <vector>

#include "storage/support.hpp"

namespace dovetail::prefetching {
namespace {

constexpr std::uint64_t kibibyte = 1U << 10;
constexpr std::uint64_t mebibyte = 1U << 20;
constexpr std::uint64_t page = 4096;

/// The memory that `dovetail run --detect` makes.
class TableMemory {
 public:
  static constexpr std::uint64_t files = 8;
  static constexpr std::uint64_t bytes = 4096 + files * sizeof(DetectedFile) + sizeof(OpenLog);

  explicit TableMemory(std::uint64_t window = 64 * mebibyte) {
    put({DetectionTable::magic, bytes, files, window, 0});
    // A device with requests of 128 KiB, and memory.
    devices({2, 7, 128 * kibibyte | (64 * kibibyte) << 32, 9, 0});
  }
  DetectionTable table() noexcept { return DetectionTable::in(memory(), bytes); }
  std::byte* memory() noexcept { return pages_->data(); }
  void put(const std::vector<std::uint64_t>& numbers) noexcept {
    std::copy(numbers.begin(), numbers.end(), reinterpret_cast<std::uint64_t*>(memory()));
  }

 private:
  struct alignas(4096) Pages : std::array<std::byte, bytes> {};
  void devices(const std::vector<std::uint64_t>& numbers) noexcept {
    std::copy(numbers.begin(), numbers.end(), reinterpret_cast<std::uint64_t*>(memory() + 64));
  }
  std::unique_ptr<Pages> pages_ = std::make_unique<Pages>();
};

FileIdentity file(std::uint64_t device, std::uint64_t inode, std::uint64_t size = 100 * mebibyte) {
  return {device, inode, size, 1, 2};
}

void read(DetectionTable& table, DetectedFile& file, std::uint64_t offset, std::uint64_t bytes) {
  file.note(offset, bytes, table.limits(file), false);
  table.count_outstanding(file);
  Range range{};
  while (file.detector.take(range)) {
  }
}

TEST(DetectionTableTest, AFileHasAPlaceOfItsOwnUntilTheTableIsFull) {
  TableMemory memory;
  DetectionTable table = memory.table();
  std::vector<std::uint32_t> places;
  bool made = false;
  for (std::uint64_t inode = 1; inode <= TableMemory::files; ++inode) {
    places.push_back(table.find(file(7, inode), made));
    EXPECT_TRUE(made);
  }
  std::ranges::sort(places);
  EXPECT_EQ(std::ranges::unique(places).size(), 0U);
  EXPECT_LT(places.back(), table.files());
  EXPECT_EQ(table.find(file(7, 100), made), table.files());
  EXPECT_FALSE(made);
  const std::uint32_t found = table.find(file(7, 3, 200 * mebibyte), made);
  ASSERT_LT(found, table.files());
  EXPECT_FALSE(made);
  EXPECT_EQ(table.file(found).size, 200 * mebibyte) << "it has grown";
  EXPECT_EQ(table.file(found).piece, 128 * kibibyte);
  EXPECT_EQ(table.file(found).gap, 64 * kibibyte);
}

TEST(DetectionTableTest, AFileHasOnePlaceWhileAnotherProcessMakesIt) {
  TableMemory memory;
  DetectionTable table = memory.table();
  bool made = false;
  DetectedFile& place = table.file(table.find(file(7, 1), made));
  place.state = DetectedFile::being_made;
  EXPECT_EQ(table.find(file(7, 1), made), table.files());
  EXPECT_FALSE(made);
  place.state = DetectedFile::ready;
  EXPECT_EQ(&table.file(table.find(file(7, 1), made)), &place);
}

TEST(DetectionTableTest, OfAFileThatWasChangedNothingIsKnown) {
  TableMemory memory;
  DetectionTable table = memory.table();
  FileIdentity identity = file(7, 1);
  bool made = false;
  const std::uint32_t number = table.find(identity, made);
  DetectedFile& found = table.file(number);
  for (const auto change : {&FileIdentity::size, &FileIdentity::seconds, &FileIdentity::nanoseconds}) {
    for (std::uint64_t i = 0; i < 12; ++i) {
      read(table, found, i * 2 * mebibyte, page);
    }
    found.given_up = all_is_cached;
    EXPECT_EQ(table.find(identity, made), number);
    EXPECT_EQ(found.given_up, all_is_cached) << "it is the same";
    EXPECT_NE(found.detector.outstanding(), 0U);
    identity.*change += 1;
    EXPECT_EQ(table.find(identity, made), number);
    EXPECT_FALSE(made);
    EXPECT_EQ(found.given_up, not_given_up);
    EXPECT_EQ(found.detector.outstanding(), 0U);
  }
}

TEST(DetectionTableTest, SmallFilesAndFilesInMemoryAreLeftAlone) {
  TableMemory memory;
  DetectionTable table = memory.table();
  bool made = false;
  EXPECT_EQ(table.find(file(7, 1, mebibyte - 1), made), table.files());
  EXPECT_EQ(table.find(file(9, 1), made), table.files());
  EXPECT_LT(table.find(file(1234, 1), made), table.files()) << "a device that was not there when the table was made";
}

TEST(DetectionTableTest, AllFilesTogetherHaveOneWindow) {
  TableMemory memory;
  DetectionTable table = memory.table();
  bool made = false;
  DetectedFile& one = table.file(table.find(file(7, 1, 8192 * mebibyte), made));
  DetectedFile& other = table.file(table.find(file(7, 2, 8192 * mebibyte), made));
  EXPECT_EQ(table.limits(other).window, 64 * mebibyte);
  for (std::uint64_t i = 0; i < 300; ++i) {
    read(table, one, i * 8 * mebibyte, mebibyte);
  }
  EXPECT_GE(one.detector.outstanding(), 16 * mebibyte);
  EXPECT_EQ(table.limits(other).window, 64 * mebibyte - one.detector.outstanding());
  EXPECT_EQ(table.limits(one).window, 64 * mebibyte) << "its own does not count";
}

TEST(DetectionTableTest, TheWindowIsNarrowerWhileMemoryIsShort) {
  TableMemory memory;
  DetectionTable table = memory.table();
  bool made = false;
  const DetectedFile& one = table.file(table.find(file(7, 1, 8192 * mebibyte), made));
  ASSERT_EQ(table.limits(one).window, 64 * mebibyte);
  for (const std::uint64_t window : {2 * mebibyte, 64 * mebibyte}) {
    std::memcpy(memory.memory() + 24, &window, sizeof window);
    EXPECT_EQ(table.limits(one).window, window);
  }
}

TEST(DetectionTableTest, WhatIsReadAgainIsForetoldAndTakesFromTheOneWindow) {
  const std::uint64_t seed = test::seed();
  std::mt19937_64 random(seed);
  TableMemory memory;
  DetectionTable table = memory.table();
  bool made = false;
  DetectedFile& one = table.file(table.find(file(7, 1, 8192 * mebibyte), made));
  DetectedFile& other = table.file(table.find(file(7, 2, 8192 * mebibyte), made));
  std::vector<std::uint64_t> places(1000);
  for (std::uint64_t& place : places) {
    place = random() % (8191 * mebibyte);
  }
  std::uint32_t foretold = 0;
  for (int pass = 0; pass < 2; ++pass) {
    std::uint32_t left = 0;  // reads of which the reader does not tell the detector
    foretold = 0;
    for (const std::uint64_t place : places) {
      const Detector::Noted noted = one.note(place, 64 * kibibyte, table.limits(one), left != 0);
      table.count_outstanding(one);
      left = noted == Detector::Noted::no_pattern ? one.detector.rest() : left - std::min(left, 1U);
      foretold += noted == Detector::Noted::foretold ? 1 : 0;
      if (one.repetition.outstanding() > 8 * mebibyte) {
        break;
      }
      std::array<Range, 8> ranges{};
      while (one.repetition.take(ranges.data(), ranges.size(), 0) != 0) {
      }
    }
  }
  EXPECT_GE(foretold, 50U);
  EXPECT_GT(one.repetition.outstanding(), 4 * mebibyte);
  EXPECT_EQ(table.limits(other).window, 64 * mebibyte - one.repetition.outstanding() - one.detector.outstanding());
}

TEST(DetectionTableTest, AFileThatWasChangedIsNotReadAgain) {
  const std::uint64_t seed = test::seed();
  std::mt19937_64 random(seed);
  TableMemory memory;
  DetectionTable table = memory.table();
  FileIdentity identity = file(7, 1, 8192 * mebibyte);
  bool made = false;
  DetectedFile& found = table.file(table.find(identity, made));
  std::vector<std::uint64_t> places(200);
  for (std::uint64_t& place : places) {
    place = random() % (8191 * mebibyte);
  }
  for (const bool is_new : {true, false, true, false}) {
    identity.seconds += is_new ? 1 : 0;
    table.find(identity, made);
    std::uint32_t foretold = 0;
    for (const std::uint64_t place : places) {
      foretold += found.note(place, page, table.limits(found), true) == Detector::Noted::foretold ? 1 : 0;
      std::array<Range, 8> ranges{};
      while (found.repetition.take(ranges.data(), ranges.size(), 0) != 0) {
      }
    }
    EXPECT_EQ(foretold > 100, !is_new) << foretold;
    EXPECT_EQ(foretold == 0, is_new) << foretold;
  }
}

TEST(DetectionTableTest, WhatAClosedFileHasAskedForStopsCounting) {
  TableMemory memory(8 * mebibyte);
  DetectionTable table = memory.table();
  bool made = false;
  DetectedFile& closed = table.file(table.find(file(7, 1, 8192 * mebibyte), made));
  DetectedFile& other = table.file(table.find(file(7, 2, std::uint64_t{1} << 40), made));
  for (std::uint64_t i = 0; i < 300; ++i) {
    read(table, closed, i * 8 * mebibyte, mebibyte);
  }
  EXPECT_LT(table.limits(other).window, 4 * mebibyte);
  for (std::uint64_t i = 0; i < 4000; ++i) {
    read(table, other, i * 8 * mebibyte, 4 * kibibyte);
  }
  EXPECT_EQ(table.limits(other).window, 8 * mebibyte);
}

TEST(DetectionTableTest, IsEmptyWhereTheMemoryIsNoTable) {
  EXPECT_EQ(DetectionTable::in(nullptr, 0).files(), 0U);
  TableMemory memory;
  ASSERT_EQ(memory.table().files(), TableMemory::files);
  for (std::uint64_t shorter : {1U, 4096U, 8192U, 40000U}) {
    EXPECT_EQ(DetectionTable::in(memory.memory(), TableMemory::bytes - shorter).files(), 0U);
  }
  for (const auto& header :
       std::vector<std::vector<std::uint64_t>>{{DetectionTable::magic + 1},
                                               {DetectionTable::magic, 1},
                                               {DetectionTable::magic, TableMemory::bytes, 9},
                                               {DetectionTable::magic, TableMemory::bytes, UINT64_MAX}}) {
    TableMemory wrong;
    wrong.put(header);
    EXPECT_EQ(wrong.table().files(), 0U);
  }
}

TEST(DetectionTableTest, WhateverIsInItNothingElseIsTouched) {
  // AddressSanitizer sees to it.
  const std::uint64_t seed = test::seed();
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    TableMemory memory;
    DetectionTable table = memory.table();
    bool made = false;
    const std::uint32_t number = table.find(file(7, 1), made);
    DetectedFile& changed = table.file(number);
    for (std::uint64_t i = 0; i < 40; ++i) {
      changed.note(i * 2 * mebibyte, page, table.limits(changed), i > 20);
    }
    auto* numbers = reinterpret_cast<std::uint32_t*>(&changed);
    for (int change = 0; change < 200; ++change) {
      numbers[random() % (sizeof(DetectedFile) / 4)] =
          random() % 2 == 0 ? static_cast<std::uint32_t>(random()) : static_cast<std::uint32_t>(random() % 70);
    }
    for (std::uint64_t i = 0; i < 100; ++i) {
      changed.note(random() % (100 * mebibyte), 1 + random() % mebibyte, table.limits(changed), i % 2 == 0);
      changed.note(i % 50 * 2 * mebibyte, page, table.limits(changed), true);
      Range range{};
      changed.detector.take(range);
      table.count_outstanding(changed);
    }
    table.find(file(7, 2), made);
  }
}

}  // namespace
}  // namespace dovetail::prefetching
