// Advice comes in pieces: the kernel cuts longer ones short without a word.
// One thread.
#include "prefetch/ranges.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace dovetail::prefetching {
namespace {

constexpr std::uint64_t piece = 128U << 10;

std::vector<Range> pieces_of(const Range& range, std::size_t most, bool& all) {
  std::vector<Range> pieces;
  all = in_pieces(range, piece, [&](const Range& part) {
    pieces.push_back(part);
    return pieces.size() < most;
  });
  return pieces;
}

TEST(RangesTest, NoPieceIsLongerAndTogetherTheyAreTheRange) {
  for (const std::uint64_t bytes : {std::uint64_t{1}, piece - 1, piece, piece + 1, 10 * piece, 10 * piece + 1}) {
    const Range range{5, 5 + bytes};
    bool all = false;
    const std::vector<Range> pieces = pieces_of(range, SIZE_MAX, all);
    EXPECT_TRUE(all);
    ASSERT_EQ(pieces.size(), (bytes + piece - 1) / piece);
    std::uint64_t at = range.offset;
    for (const Range& part : pieces) {
      EXPECT_EQ(part.offset, at);
      EXPECT_GT(part.end, part.offset);
      EXPECT_LE(part.end - part.offset, piece);
      at = part.end;
    }
    EXPECT_EQ(at, range.end);
  }
}

TEST(RangesTest, NothingIsNoPiece) {
  bool all = false;
  EXPECT_TRUE(pieces_of({7, 7}, SIZE_MAX, all).empty());
  EXPECT_TRUE(all);
}

TEST(RangesTest, AfterARefusalNothingMoreIsAskedFor) {
  bool all = true;
  EXPECT_EQ(pieces_of({0, 10 * piece}, 3, all).size(), 3U);
  EXPECT_FALSE(all);
}

}  // namespace
}  // namespace dovetail::prefetching
