// What a program that reads in steps will read next is guessed, and a program without steps or order is left alone.
// One thread.
#include "prefetch/pattern.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "storage/support.hpp"

namespace dovetail::prefetching {
namespace {

using base::ByteRange;

constexpr std::uint64_t kibibyte = std::uint64_t{1} << 10;
constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;
constexpr std::uint64_t huge = 1 << 20;  // more than any step has, in mebibytes

/// A program on a clock of its own.
class Reader {
 public:
  Pattern pattern;
  std::map<std::size_t, std::uint64_t> passed;  // by stream

  void compute() { now_ += 100'000'000; }
  /// Whether the step is over.
  bool read(ByteRange range) {
    const std::uint64_t begun = now_ += 1000;
    now_ += 1000;
    return pattern.note(range, begun, now_, [this](std::size_t stream, std::uint64_t end) { passed[stream] = end; });
  }
  std::vector<ByteRange> guesses(std::uint64_t size = huge * mebibyte) {
    std::vector<ByteRange> found;
    for (const Pattern::Guess& guess : pattern.next(size, gibibyte)) {
      found.push_back(guess.range);
      pattern.follow(guess);
    }
    return found;
  }

 private:
  std::uint64_t now_ = 1'000'000'000;
};

bool covers(const std::vector<ByteRange>& guesses, ByteRange range) {
  std::uint64_t at = range.offset;
  bool went_on = true;
  while (at < range.end() && went_on) {
    went_on = false;
    for (const ByteRange& guess : guesses) {
      if (guess.offset <= at && at < guess.end()) {
        at = guess.end();
        went_on = true;
      }
    }
  }
  return at >= range.end();
}

TEST(PatternTest, TheNextStepOfAFileThatIsReadInSequence) {
  Reader reader;
  std::uint64_t at = 0;
  for (int step = 0; step < 2; ++step) {
    EXPECT_TRUE(reader.guesses().empty()) << "one step is no pattern";
    reader.compute();
    for (int i = 0; i < 8; ++i, at += 64 * kibibyte) {
      reader.read({at, 64 * kibibyte});
    }
  }
  const std::vector<ByteRange> guesses = reader.guesses();
  EXPECT_TRUE(covers(guesses, {at, 512 * kibibyte}));
  EXPECT_FALSE(covers(guesses, {at, 2 * mebibyte})) << "as much as a step has, and little more";
  EXPECT_TRUE(reader.guesses().empty()) << "nothing is guessed twice";
}

TEST(PatternTest, AStepIsOverWhenItHasReadAboutAsMuchAsTheOneBefore) {
  Reader reader;
  std::uint64_t at = 0;
  std::vector<int> over;
  for (int step = 0; step < 3; ++step) {
    reader.compute();
    for (int i = 0; i < 16; ++i, at += 4 * kibibyte) {
      if (reader.read({at, 4 * kibibyte})) {
        over.push_back(step * 16 + i);
      }
    }
  }
  EXPECT_EQ(over, (std::vector<int>{16 + 13, 16 + 14, 16 + 15, 32 + 13, 32 + 14, 32 + 15}));
}

TEST(PatternTest, ReadsAtAConstantStrideAreGuessedOneByOne) {
  constexpr std::uint64_t stride = 3 * mebibyte;
  Reader reader;
  std::uint64_t at = 5;
  for (int step = 0; step < 2; ++step) {
    reader.compute();
    for (int i = 0; i < 10; ++i, at += stride) {
      reader.read({at, 4 * kibibyte});
    }
  }
  const std::vector<ByteRange> guesses = reader.guesses();
  ASSERT_EQ(guesses.size(), 10U);
  for (std::size_t i = 0; i < guesses.size(); ++i) {
    EXPECT_EQ(guesses[i], (ByteRange{at + i * stride, 4 * kibibyte}));
  }
  reader.compute();
  reader.read({at, 4 * kibibyte});
  for (const ByteRange& guess : reader.guesses()) {
    EXPECT_GE(guess.offset, at + 10 * stride) << "nothing is guessed twice";
  }
}

TEST(PatternTest, SeveralVariablesAreStreamsOfTheirOwn) {
  Reader reader;
  std::vector<std::uint64_t> at{0, 100 * mebibyte, 200 * mebibyte};
  for (int step = 0; step < 3; ++step) {
    reader.compute();
    for (int i = 0; i < 4; ++i) {
      for (std::uint64_t& place : at) {
        reader.read({place, 32 * kibibyte});
        place += 32 * kibibyte;
      }
    }
  }
  const std::vector<ByteRange> guesses = reader.guesses();
  for (const std::uint64_t place : at) {
    EXPECT_TRUE(covers(guesses, {place, 128 * kibibyte})) << place;
  }
}

TEST(PatternTest, NothingIsGuessedBehindTheEndOfTheFile) {
  Reader reader;
  std::uint64_t at = 0;
  for (int step = 0; step < 2; ++step) {
    reader.compute();
    for (int i = 0; i < 8; ++i, at += 64 * kibibyte) {
      reader.read({at, 64 * kibibyte});
    }
  }
  const std::uint64_t size = at + 100'001;
  const std::vector<ByteRange> guesses = reader.guesses(size);
  EXPECT_TRUE(covers(guesses, {at, 100'001}));
  for (const ByteRange& guess : guesses) {
    EXPECT_LE(guess.end(), size);
  }
}

TEST(PatternTest, RandomReadsAndReadsWithoutStepsAreLeftAlone) {
  const std::uint64_t seed = test::seed();
  std::mt19937_64 random(seed);
  Reader jumping;
  for (int i = 0; i < 5000; ++i) {
    if (i % 20 == 0) {
      jumping.compute();
    }
    jumping.read({random() % (huge * mebibyte) * 4096, 1 + random() % 100'000});
    EXPECT_TRUE(jumping.guesses(UINT64_MAX / 2).empty());
  }
  Reader streaming;
  for (std::uint64_t at = 0; at < 500 * mebibyte; at += 256 * kibibyte) {
    EXPECT_FALSE(streaming.read({at, 256 * kibibyte}));
    EXPECT_TRUE(streaming.guesses().empty());
  }
}

TEST(PatternTest, WhatAStepHasReadIsPassedWhenTheNextOneBegins) {
  Reader reader;
  for (std::uint64_t at = 0; at < mebibyte; at += 64 * kibibyte) {
    reader.read({at, 64 * kibibyte});
    for (const auto& [stream, end] : reader.passed) {
      EXPECT_TRUE(end == UINT64_MAX || end <= at) << "data of a library in front of it may be read in turn";
    }
  }
  reader.passed.clear();
  reader.compute();
  reader.read({mebibyte, 64 * kibibyte});
  bool told = false;
  for (const auto& [stream, end] : reader.passed) {
    told = told || end == mebibyte;
  }
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace dovetail::prefetching
