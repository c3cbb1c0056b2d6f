// How an operation is cut for a direct file.
#include "storage/pieces.hpp"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "support.hpp"

namespace dovetail::storage {
namespace {

TEST(Pieces, CoverTheRangeOnceAndInOrder) {
  std::mt19937_64 random(test::seed());
  for (int round = 0; round < 20000; ++round) {
    const std::uint64_t alignment = std::uint64_t{512} << (random() % 4);
    const std::uint64_t offset = random() % (8 * alignment);
    const std::uint64_t length = 1 + random() % (8 * alignment);
    const Pieces pieces = cut(offset, length, alignment);
    ASSERT_GE(pieces.count, 1U);
    std::uint64_t covered = 0;
    for (unsigned i = 0; i < pieces.count; ++i) {
      const Piece& piece = pieces.piece[i];
      ASSERT_EQ(piece.begin, covered);
      ASSERT_GT(piece.length, 0U);
      covered += piece.length;
      if (piece.direct) {
        ASSERT_EQ((offset + piece.begin) % alignment, 0U);
        ASSERT_EQ(piece.length % alignment, 0U);
      } else if (pieces.count > 1) {
        ASSERT_LT(piece.length, alignment);
      } else {
        ASSERT_LT(piece.length, 2 * alignment);
      }
    }
    ASSERT_EQ(covered, length);
  }
}

TEST(Pieces, AlignedRangesStayWhole) {
  const Pieces pieces = cut(8192, 65536, 4096);
  ASSERT_EQ(pieces.count, 1U);
  EXPECT_TRUE(pieces.piece[0].direct);
}

// A copy through a buffer of the library's is for memory that the system would refuse, and for no other.
TEST(Pieces, OnlyMemoryThatDoesNotSuitIsCopied) {
  std::string name = "/var/tmp/dovetail-pieces-XXXXXX";
  const int made = mkostemp(name.data(), O_DIRECT | O_CLOEXEC);
  if (made < 0 && errno == EINVAL) {
    GTEST_SKIP() << "no direct files here";
  }
  ASSERT_GE(made, 0);
  unlink(name.c_str());
  const auto file = OpenFile::adopt(made, true);
  alignas(4096) static std::array<std::byte, 5 * 4096> memory{};
  const auto vectors_from = [](std::size_t first, std::size_t second) {
    return std::array{iovec{memory.data() + first, 8192}, iovec{memory.data() + second, 8192}};
  };
  const auto is_copied = [&](Operation operation) {
    operation.length = 16384;
    return needs_bounce(*file, operation, {.begin = 0, .length = operation.length, .direct = true});
  };
  const auto suits = vectors_from(0, 8192);
  const auto does_not = vectors_from(0, 8193);
  std::array<iovec, 2> odd_length = suits;
  odd_length[0].iov_len = 8191;
  odd_length[1].iov_len = 8193;
  EXPECT_FALSE(is_copied({.kind = Kind::readv, .vectors = suits}));
  EXPECT_TRUE(is_copied({.kind = Kind::readv, .vectors = does_not}));
  EXPECT_TRUE(is_copied({.kind = Kind::writev, .vectors = odd_length}));
  EXPECT_FALSE(is_copied({.kind = Kind::read, .data = memory.data()}));
  EXPECT_TRUE(is_copied({.kind = Kind::write, .data = memory.data() + 1}));
}

TEST(Pieces, ReadsEndWhereTheFirstPieceEnds) {
  const Pieces pieces = cut(100, 10000, 4096);
  ASSERT_EQ(pieces.count, 3U);
  DirectRequest requests[3];
  for (unsigned i = 0; i < 3; ++i) {
    requests[i].transferred = pieces.piece[i].length;
  }
  requests[1].transferred -= 50;
  requests[1].remaining = 50;
  Operation operation;
  operation.kind = Kind::read;
  operation.offset = 100;
  operation.length = 10000;
  const Outcome outcome = combine(requests, pieces.count, operation);
  EXPECT_EQ(outcome.bytes, pieces.piece[0].length + pieces.piece[1].length - 50);
  EXPECT_EQ(outcome.error, 0);
}

TEST(Pieces, TheFirstErrorInTheOrderOfTheFileCounts) {
  const Pieces pieces = cut(100, 10000, 4096);
  DirectRequest requests[3];
  requests[0].transferred = pieces.piece[0].length;
  requests[1].error = EIO;
  requests[2].error = ENOSPC;
  Operation operation;
  operation.offset = 100;
  operation.length = 10000;
  const Outcome outcome = combine(requests, pieces.count, operation);
  EXPECT_EQ(outcome.error, EIO);
  EXPECT_EQ(outcome.offset, 100 + pieces.piece[0].length);
  EXPECT_EQ(outcome.left, 10000 - pieces.piece[0].length);
}

}  // namespace
}  // namespace dovetail::storage
