// What a program reads next is recognised from its reads alone; where there is no pattern nothing is asked for.
#include "prefetch/detector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "prefetch/trust.hpp"
#include "storage/support.hpp"

namespace dovetail::prefetching {
namespace {

constexpr std::uint64_t kibibyte = 1U << 10;
constexpr std::uint64_t mebibyte = 1U << 20;
constexpr std::uint64_t page = 4096;

/// A program, and a system that reads what it is asked for at once.
class Program {
 public:
  explicit Program(std::uint64_t size, std::uint64_t gap = 0, std::uint64_t window = 64 * mebibyte)
      : limits_{size, window, gap}, cached_(size / page + 1) {}

  void read(std::uint64_t offset, std::uint64_t bytes) {
    ++reads;
    bool there = true;
    for (std::uint64_t at = offset / page; at <= (offset + bytes - 1) / page; ++at) {
      there = there && cached_[at];
      cached_[at] = true;
    }
    from_memory += there ? 1 : 0;
    if (resting_ != 0) {
      --resting_;
      return;
    }
    const Detector::Noted noted = detector->note(offset, bytes, limits_);
    trust.note(noted);
    if (noted == Detector::Noted::no_pattern) {
      ++rests;
      resting_ = detector->rest();
    }
    Range range{};
    while (takes && detector->take(range)) {
      EXPECT_LT(range.offset, range.end);
      EXPECT_LE(range.end, limits_.size);
      asked += range.end - range.offset;
      ++requests;
      for (std::uint64_t at = range.offset / page; at <= (range.end - 1) / page; ++at) {
        cached_[at] = true;
      }
    }
    EXPECT_LE(detector->outstanding(), limits_.window);
    EXPECT_LE(detector->outstanding(), Detector::allowance + detector->counts().used) << "more than has come true";
  }

  // All bytes zero.
  std::shared_ptr<Detector> detector = std::make_shared<Detector>();
  Trust trust{};
  bool takes = true;
  std::uint64_t reads = 0;
  std::uint64_t from_memory = 0;
  std::uint64_t asked = 0;
  std::uint64_t requests = 0;
  std::uint64_t rests = 0;

 private:
  Detector::Limits limits_;
  std::vector<bool> cached_;
  std::uint64_t resting_ = 0;
};

// As bench/prefetch/reader.c: clusters of pieces with small gaps and steps back, and between them what is not wanted.
std::vector<std::uint64_t> clusters(std::uint64_t count, std::uint64_t piece, std::uint64_t between,
                                    std::mt19937_64& random) {
  constexpr std::size_t pieces = 22;
  std::vector<std::uint64_t> offsets;
  std::uint64_t at = 0;
  for (std::uint64_t cluster = 0; cluster < count; ++cluster) {
    std::vector<std::uint64_t> one;
    for (std::size_t i = 0; i < pieces; ++i) {
      one.push_back(at);
      at += piece + random() % (piece * 2 / 5);
    }
    for (std::size_t i = 0; i < pieces; i += 4) {
      std::swap(one[i], one[i + random() % (pieces - i)]);
    }
    offsets.insert(offsets.end(), one.begin(), one.end());
    at += between;
  }
  return offsets;
}

TEST(DetectorTest, StridesForwardAndBackwardAreAskedForExactly) {
  constexpr std::uint64_t count = 500;
  constexpr std::uint64_t stride = 3 * mebibyte;
  for (const bool backward : {false, true}) {
    for (const std::uint64_t bytes : {4 * kibibyte, std::uint64_t{5000}, 300 * kibibyte}) {
      Program program(count * stride);
      for (std::uint64_t i = 0; i < count; ++i) {
        program.read((backward ? count - 1 - i : i) * stride, bytes);
      }
      EXPECT_GE(program.from_memory, count - 5) << bytes << backward;
      EXPECT_LE(program.asked, count * bytes) << "nothing between them";
      EXPECT_EQ(program.detector->counts().wasted, 0U);
      EXPECT_TRUE(program.trust.is_enough());
    }
  }
}

TEST(DetectorTest, AGapThatCostsLessThanARequestIsReadAsWell) {
  Program program(200 * mebibyte, 64 * kibibyte);
  for (std::uint64_t at = 0; at < 200 * mebibyte; at += 64 * kibibyte) {
    program.read(at, 16 * kibibyte);
  }
  EXPECT_LT(program.requests, program.reads / 8);
  EXPECT_GE(program.from_memory, program.reads - 5);

  Program sparse(200 * mebibyte, 64 * kibibyte);
  for (std::uint64_t at = 0; at < 200 * mebibyte; at += 64 * kibibyte) {
    sparse.read(at, page);
  }
  EXPECT_LE(sparse.asked, sparse.reads * page) << "unless it is most of what would be read";
}

TEST(DetectorTest, ClustersWithStepsBackAndALeapBetweenThem) {
  const std::uint64_t seed = test::seed();
  std::mt19937_64 random(seed);
  const auto offsets = clusters(100, 250'000, 4 * mebibyte, random);
  Program program(offsets.back() + 64 * mebibyte, 256 * kibibyte);
  for (const std::uint64_t offset : offsets) {
    program.read(offset, 250'000);
  }
  EXPECT_GT(program.from_memory, program.reads * 2 / 3);
  // With the small gaps, but without what lies between the clusters, which is 4 MiB each.
  EXPECT_LT(program.asked, offsets.size() * 250'000 * 6 / 5 * 11 / 10);
  EXPECT_TRUE(program.trust.is_enough());
}

TEST(DetectorTest, BackwardInSequenceAndForwardWithGapsGoOnUpToTheWindow) {
  Program backward(256 * mebibyte);
  for (std::uint64_t at = 256 * mebibyte; at != 0; at -= 64 * kibibyte) {
    backward.read(at - 64 * kibibyte, 64 * kibibyte);
  }
  EXPECT_GE(backward.from_memory, backward.reads - 10);
  EXPECT_EQ(backward.asked + 9 * 64 * kibibyte, 256 * mebibyte) << "all but what showed the pattern, and nothing twice";
  EXPECT_EQ(backward.detector->counts().wasted, 0U);

  const std::uint64_t seed = test::seed();
  std::mt19937_64 random(seed);
  Program gaps(256 * mebibyte, 256 * kibibyte);
  for (std::uint64_t at = 0; at + 64 * kibibyte < 250 * mebibyte;
       at += 64 * kibibyte + 1 + random() % (96 * kibibyte)) {
    gaps.read(at, 64 * kibibyte);
  }
  EXPECT_GE(gaps.from_memory, gaps.reads - 10);
}

TEST(DetectorTest, SeveralStreamsInOneFile) {
  constexpr std::uint64_t streams = 5;
  constexpr std::uint64_t each = 1024 * mebibyte;
  Program program(streams * each);
  for (std::uint64_t step = 0; step < 300; ++step) {
    for (std::uint64_t stream = 0; stream < streams; ++stream) {
      // Every other one backward, and each at a stride of its own.
      const std::uint64_t at = step * (2 + stream) * 512 * kibibyte;
      program.read(stream * each + (stream % 2 == 0 ? at : each - mebibyte - at), 16 * kibibyte);
    }
  }
  EXPECT_GE(program.from_memory, program.reads - 6 * streams);
  EXPECT_EQ(program.detector->counts().wasted, 0U);
}

TEST(DetectorTest, AReaderThatStreamsIsNotTrustedForAnotherThatStrides) {
  constexpr std::uint64_t size = 1024 * mebibyte;
  Program strides(size);
  Program stream(size);
  stream.detector = strides.detector;
  for (std::uint64_t i = 0; i < 200; ++i) {
    strides.read(i * 4 * mebibyte, page);
    stream.read(size / 2 + i * 128 * kibibyte, 128 * kibibyte);
  }
  EXPECT_TRUE(strides.trust.is_enough());
  EXPECT_FALSE(stream.trust.is_enough());
}

TEST(DetectorTest, AReaderWhoseReadsAreNotNotedIsTrustedNoLonger) {
  Program program(1024 * mebibyte);
  for (std::uint64_t i = 0; i < 20; ++i) {
    program.read(i * 4 * mebibyte, page);
  }
  ASSERT_TRUE(program.trust.is_enough());
  for (int i = 0; i < 8; ++i) {
    program.trust.note(Detector::Noted::nothing);
  }
  EXPECT_FALSE(program.trust.is_enough());
}

TEST(DetectorTest, NothingIsAskedForWithoutAPattern) {
  const std::uint64_t seed = test::seed();
  std::mt19937_64 random(seed);
  Program in_sequence(512 * mebibyte, 256 * kibibyte);
  for (std::uint64_t at = 0; at < 512 * mebibyte; at += 128 * kibibyte) {
    in_sequence.read(at, 128 * kibibyte);
  }
  EXPECT_EQ(in_sequence.requests, 0U) << "the system reads ahead as well";
  EXPECT_FALSE(in_sequence.trust.is_enough());

  Program again(64 * mebibyte, 256 * kibibyte);
  for (int i = 0; i < 3000; ++i) {
    again.read(10 * mebibyte, page);
  }
  EXPECT_EQ(again.requests, 0U);

  Program short_one(64 * mebibyte, 0);
  for (std::uint64_t i = 0; i < 3; ++i) {
    short_one.read(i * 8 * mebibyte, page);
  }
  EXPECT_EQ(short_one.requests, 0U) << "three reads are no pattern";

  Program another_order(64 * mebibyte, 0);
  for (const std::uint64_t i : {20U, 10U, 0U, 30U}) {
    another_order.read(i * mebibyte, page);
  }
  EXPECT_EQ(another_order.requests, 0U) << "a stride, but not in the order of the reads";

  Program anywhere(std::uint64_t{100} << 30, 256 * kibibyte);
  for (int i = 0; i < 20000; ++i) {
    anywhere.read(random() % ((std::uint64_t{100} << 30) - mebibyte), 1 + random() % (128 * kibibyte));
  }
  EXPECT_LT(anywhere.asked, Detector::allowance / 4);
  EXPECT_FALSE(anywhere.trust.is_enough());
}

TEST(DetectorTest, AFileWithoutAPatternIsLeftAloneForLongerAndLonger) {
  const std::uint64_t seed = test::seed();
  std::mt19937_64 random(seed);
  Program program(std::uint64_t{1} << 36, 0);
  for (int i = 0; i < 50000; ++i) {
    program.read(random() % ((std::uint64_t{1} << 36) - page), page);
  }
  EXPECT_LT(program.rests, 15U) << "rests of 512 reads, and of twice as many each time, up to 8192";
  EXPECT_GT(program.rests, 5U);
}

// Whatever a program does: of what was asked for only a part is wasted, besides what each rest forgives.
TEST(DetectorTest, WhateverIsReadLittleIsWasted) {
  const std::uint64_t seed = test::seed();
  std::mt19937_64 random(seed);
  constexpr std::uint64_t size = std::uint64_t{4} << 30;
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t window = (1 + random() % 64) * mebibyte;
    Program program(size, random() % 2 == 0 ? 0 : 256 * kibibyte, window);
    for (int phase = 0; phase < 40; ++phase) {
      // A pattern that holds for some reads, with some that are elsewhere.
      const std::uint64_t bytes = 1 + random() % (400 * kibibyte);
      const std::uint64_t stride = bytes + random() % (4 * mebibyte);
      const std::uint64_t noise = random() % 4 == 0 ? 1 + random() % 10 : 0;
      const bool backward = random() % 2 == 0;
      std::uint64_t at = random() % (size / 2) + size / 4;
      for (std::uint64_t step = 1 + random() % 60; step != 0; --step) {
        const bool elsewhere = noise != 0 && random() % noise == 0;
        program.read(elsewhere ? random() % (size - bytes) : at, bytes);
        at = std::clamp(backward ? at - stride : at + stride, std::uint64_t{0}, size - bytes);
      }
    }
    const auto& counts = program.detector->counts();
    // What is under way when a pattern ends: never more than what has come true, nor than the window.
    const std::uint64_t periods = program.rests + 1;
    ASSERT_LE(counts.wasted, counts.used / Detector::part_wasted + periods * (Detector::allowance + window))
        << "round " << round;
    ASSERT_LE(counts.wasted, 2 * counts.used + periods * 2 * Detector::allowance) << "round " << round;
  }
}

TEST(DetectorTest, AGuessThatTheProgramComesToBeforeItIsTakenIsLate) {
  Program program(1024 * mebibyte);
  program.takes = false;
  for (std::uint64_t i = 0; i < 20; ++i) {
    program.read(i * 8 * mebibyte, page);
  }
  EXPECT_GT(program.detector->counts().late, 5U);
  EXPECT_TRUE(program.detector->has_advice());
}

TEST(DetectorTest, WhatARestHasGivenUpIsNotAskedFor) {
  const std::uint64_t seed = test::seed();
  std::mt19937_64 random(seed);
  constexpr std::uint64_t size = std::uint64_t{1} << 40;
  Program program(size);
  program.takes = false;
  for (std::uint64_t i = 0; i < 20; ++i) {
    program.read(i * 8 * mebibyte, page);
  }
  ASSERT_TRUE(program.detector->has_advice());
  while (program.rests == 0) {
    program.read(random() % (size - page), page);
  }
  EXPECT_EQ(program.detector->outstanding(), 0U);
  EXPECT_FALSE(program.detector->has_advice());
}

// A stride with something in between now and then, as HDF5 has it between chunks: where the next reads lie is known less and less. A guess that is wrong,
// or right in part only, takes a request more.
TEST(DetectorTest, GuessesThatMissSmallReadsCostFewRequests) {
  Program program(800 * mebibyte, 256 * kibibyte);
  std::uint64_t offset = 4536;
  std::mt19937_64 random(test::seed());
  while (offset < 700 * mebibyte) {
    program.read(offset, 17372);
    offset += 208464 + (random() % 6 == 0 ? 3136 : 0);
  }
  EXPECT_GT(program.reads, 3000U);
  EXPECT_LT(program.requests + program.reads - program.from_memory, program.reads * 11 / 10);
}

TEST(DetectorTest, SeveralThreadsNoteAndTake) {
  constexpr std::uint64_t count = 4000;
  constexpr std::uint64_t size = count * 4 * 2 * mebibyte;
  auto detector = std::make_unique<Detector>();
  std::atomic<int> under_way = 3;
  std::vector<std::thread> threads;
  for (std::uint64_t number = 0; number < 3; ++number) {
    threads.emplace_back([&, number] {
      for (std::uint64_t i = 0; i < count; ++i) {
        detector->note(number * size / 4 + i * mebibyte, 64 * kibibyte, {size, 64 * mebibyte, 0});
      }
      --under_way;
    });
  }
  std::atomic<std::uint64_t> taken = 0;  // bytes
  for (int number = 0; number < 2; ++number) {
    threads.emplace_back([&] {
      Range range{};
      while (under_way != 0 || detector->has_advice()) {
        if (detector->take(range)) {
          ASSERT_LT(range.offset, range.end);
          ASSERT_EQ((range.end - range.offset) % page, 0U) << "one half of each of two ranges";
          ASSERT_EQ(range.offset % mebibyte, 0U);
          taken += range.end - range.offset;
        }
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_FALSE(detector->has_advice());
  const auto& counts = detector->counts();
  EXPECT_EQ(taken, counts.used + counts.wasted + detector->outstanding()) << "each range is taken once";
}

}  // namespace
}  // namespace dovetail::prefetching
