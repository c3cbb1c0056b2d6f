// The index of a log: where the newest of each byte is, and when neighbours are one extent.
// One thread.
#include "staging/log_place.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <array>
#include <optional>
#include <random>
#include <vector>

#include "device/support.hpp"
#include "staging/staged_contents.hpp"

namespace dovetail::staging {
namespace {

// A segment of which each byte is another number.
class PretendedLog {
 public:
  LogPlace append(std::size_t bytes) {
    const LogPlace place{.segment = 1,
                         .position = static_cast<std::uint32_t>(end_ + header_bytes),
                         .length = static_cast<std::uint32_t>(bytes),
                         .skipped = 0};
    end_ += header_bytes + bytes;
    return place;
  }

 private:
  std::uint64_t end_ = header_bytes;
};

TEST(LogPlaceTest, RecordsOfOneLengthFromFrontToBackAreOneExtent) {
  PretendedLog log;
  StagedContents contents(0);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    contents.write({i * 512, 512}, log.append(512));
  }
  contents.write({512'000, 100}, log.append(100));
  EXPECT_EQ(contents.index().extents().size(), 1U);
  EXPECT_EQ(contents.index().extents().begin()->second.end, 512'100U);
  // Behind a shorter one nothing can be said of the next.
  contents.write({512'100, 512}, log.append(512));
  EXPECT_EQ(contents.index().extents().size(), 2U);
}

TEST(LogPlaceTest, ASkippedRecordOrAnotherSegmentEndsTheExtent) {
  PretendedLog log;
  StagedContents contents(0);
  contents.write({0, 64}, log.append(64));
  log.append(0);
  contents.write({64, 64}, log.append(64));
  EXPECT_EQ(contents.index().extents().size(), 2U);
  LogPlace elsewhere = log.append(64);
  elsewhere.segment = 2;
  contents.write({128, 64}, elsewhere);
  EXPECT_EQ(contents.index().extents().size(), 3U);
}

// A million small writes that do not follow each other in the file are a million extents.
TEST(LogPlaceTest, AnExtentTakesAtMost64Bytes) {
  constexpr std::size_t writes = 100'000;
  constexpr std::size_t piece = 4096;
  const std::size_t before = ::mallinfo2().uordblks;
  if (before == 0) {
    GTEST_SKIP() << "the allocator of a sanitizer does not tell what it has given";
  }
  PretendedLog log;
  StagedContents contents(0);
  for (std::uint64_t i = 0; i < writes; ++i) {
    contents.write({i * 4 * piece, piece}, log.append(piece));
  }
  EXPECT_EQ(contents.index().extents().size(), writes);
  EXPECT_LE(::mallinfo2().uordblks - before, writes * 64);
}

// Of each byte of the file, where in the log it is.
using Expected = std::vector<std::optional<std::uint64_t>>;

void compare(const StagedContents& contents, const Expected& expected) {
  Expected seen(expected.size());
  contents.index().visit(
      {0, expected.size()},
      [&](base::ByteRange range, LogPlace place) {
        for (std::size_t left = range.length; left != 0;) {
          const auto together = static_cast<std::size_t>(place.together(left));
          ASSERT_GT(together, 0U);
          for (std::size_t i = 0; i < together; ++i) {
            seen[range.offset + range.length - left + i] = place.byte_position() + i;
          }
          place = place.behind(together);
          left -= together;
        }
      },
      [](base::ByteRange) {});
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(seen[i], expected[i]) << "byte " << i;
  }
}

TEST(LogPlaceTest, RandomWritesAndSizesKeepTheNewestOfEachByte) {
  std::mt19937_64 random(test::seed());
  for (unsigned run = 0; run < 200; ++run) {
    PretendedLog log;
    StagedContents contents(0);
    Expected expected(128);
    std::uint64_t next = 0;  // often writes follow each other, with one length
    for (unsigned step = 0; step < 100; ++step) {
      if (random() % 12 == 0) {
        const std::uint64_t size = random() % expected.size();
        contents.set_size(size);
        std::fill(expected.begin() + static_cast<std::ptrdiff_t>(size), expected.end(), std::nullopt);
      } else {
        const std::uint64_t offset = random() % 3 == 0 ? random() % expected.size() : next % expected.size();
        const std::size_t length =
            std::min<std::size_t>(random() % 3 == 0 ? 1 + random() % 20 : 5, expected.size() - offset);
        const LogPlace place = log.append(length);
        contents.write({offset, length}, place);
        for (std::size_t i = 0; i < length; ++i) {
          expected[offset + i] = place.position + i;
        }
        next = offset + length;
      }
      ASSERT_NO_FATAL_FAILURE(compare(contents, expected)) << "step " << step;
    }
  }
}

TEST(LogPlaceTest, WhatWasCutOffOfTheFinalFileStaysCutUntilItIsDrained) {
  PretendedLog log;
  StagedContents contents(1000);
  EXPECT_EQ(contents.final_bytes(), StagedContents::uncut);
  contents.set_size(100);
  contents.set_size(400);
  EXPECT_EQ(contents.size(), 400U);
  EXPECT_EQ(contents.final_bytes(), 100U);
  EXPECT_EQ(contents.begin_drain(), 100U);
  EXPECT_EQ(contents.final_bytes(), 100U);
  contents.set_size(300);
  contents.give_up_drain();
  EXPECT_EQ(contents.begin_drain(), 100U);
  contents.set_size(200);
  contents.end_drain(1);
  EXPECT_EQ(contents.final_bytes(), 200U);
  EXPECT_EQ(contents.size(), 200U);
}

}  // namespace
}  // namespace dovetail::staging
