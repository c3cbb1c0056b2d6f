// What a program reads again in the same order is asked for the second time; what it does not is not.
// One thread.
#include "prefetch/detector_repetition.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "storage/support.hpp"

namespace dovetail::prefetching {
namespace {

constexpr std::uint64_t kibibyte = 1U << 10;
constexpr std::uint64_t mebibyte = 1U << 20;
constexpr std::uint64_t page = 4096;
constexpr std::uint64_t size = 4096 * mebibyte;

using Places = std::vector<std::uint64_t>;

/// A program, and a system that reads what it is asked for at once and forgets it when the test says so.
class Program {
 public:
  explicit Program(std::uint64_t window = 64 * mebibyte, std::uint64_t gap = 0)
      : limits_{size, window, gap}, cached_(size / page) {}

  void read(std::uint64_t offset, std::uint64_t bytes) {
    from_memory += cached_[offset / page] && cached_[(offset + bytes - 1) / page] ? 1 : 0;
    foretold += repetition->note(offset, bytes, limits_, *counts) ? 1 : 0;
    EXPECT_LE(repetition->outstanding(), limits_.window);
    EXPECT_LE(repetition->outstanding(), Detector::allowance + counts->used) << "more than has come true";
    std::array<Range, 1024> ranges{};
    for (std::uint32_t count = 0; (count = repetition->take(ranges.data(), ranges.size(), limits_.gap)) != 0;) {
      requests += count;
      for (std::uint32_t number = 0; number < count; ++number) {
        ASSERT_LT(ranges[number].offset, ranges[number].end);
        ASSERT_LE(ranges[number].end, size);
        asked += ranges[number].end - ranges[number].offset;
        std::fill(cached_.begin() + static_cast<std::ptrdiff_t>(ranges[number].offset / page),
                  cached_.begin() + static_cast<std::ptrdiff_t>((ranges[number].end - 1) / page + 1), true);
      }
    }
  }
  void read_all(const Places& places, std::uint64_t bytes) {
    std::fill(cached_.begin(), cached_.end(), false);
    from_memory = 0;
    foretold = 0;
    asked = 0;
    requests = 0;
    for (const std::uint64_t place : places) {
      read(place, bytes);
    }
  }

  // All bytes zero.
  std::shared_ptr<Repetition> repetition = std::make_shared<Repetition>();
  std::shared_ptr<Detector::Counts> counts = std::make_shared<Detector::Counts>();
  std::uint64_t from_memory = 0;
  std::uint64_t foretold = 0;
  std::uint64_t asked = 0;
  std::uint64_t requests = 0;

 private:
  Detector::Limits limits_;
  std::vector<bool> cached_;
};

// Each once, at least 256 KiB apart, in an order of chance.
Places shuffled(std::size_t count, std::mt19937_64& random) {
  Places places(size / (256 * kibibyte));
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i] = i * 256 * kibibyte;
  }
  std::ranges::shuffle(places, random);
  places.resize(count);
  return places;
}

TEST(RepetitionTest, WhatIsReadAgainInTheSameOrderIsAskedForAndNothingElse) {
  std::mt19937_64 random(test::seed());
  for (const std::uint64_t bytes : {std::uint64_t{1}, 4 * kibibyte, 64 * kibibyte}) {
    const Places places = shuffled(2000, random);
    Program program;
    program.read_all(places, bytes);
    EXPECT_EQ(program.asked, 0U) << "read for the first time";
    for (int pass = 0; pass < 3; ++pass) {
      program.read_all(places, bytes);
      EXPECT_GE(program.from_memory, 1970U) << bytes;
      EXPECT_GE(program.foretold, 1970U) << bytes;
      EXPECT_LE(program.asked, 2000 * std::max(bytes, page)) << bytes;
    }
    EXPECT_LE(program.counts->wasted, 20 * std::max(bytes, page));
  }
}

TEST(RepetitionTest, OfALongSequenceTheFirstPlacesComeAgain) {
  std::mt19937_64 random(test::seed());
  const Places places = shuffled(12000, random);
  Program program;
  program.read_all(places, page);
  for (int pass = 0; pass < 3; ++pass) {
    program.read_all(places, page);
    EXPECT_GE(program.from_memory, Repetition::most_places - 40);
    EXPECT_LE(program.counts->wasted, 20 * page);
  }
}

TEST(RepetitionTest, APlaceIsWhatWasReadInSequenceFromThere) {
  std::mt19937_64 random(test::seed());
  Places pieces;
  for (const std::uint64_t place : shuffled(500, random)) {
    pieces.insert(pieces.end(), {place, place + 8 * kibibyte, place + 16 * kibibyte});
  }
  Program program;
  program.read_all(pieces, 8 * kibibyte);
  program.read_all(pieces, 8 * kibibyte);
  EXPECT_GE(program.from_memory, pieces.size() - 60);
  EXPECT_GE(program.foretold, pieces.size() - 60);
  EXPECT_LE(program.asked, pieces.size() * 8 * kibibyte);
}

TEST(RepetitionTest, OfALongPieceInSequenceTheSystemReadsTheRest) {
  constexpr std::uint64_t apart = 64 * mebibyte;
  std::mt19937_64 random(test::seed());
  Places order(48);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::shuffle(order, random);
  Places pieces;
  for (const std::uint64_t place : order) {
    for (std::uint64_t at = 0; at < 4 * mebibyte; at += 256 * kibibyte) {
      pieces.push_back(place * apart + at);
    }
  }
  Program program;
  program.read_all(pieces, 256 * kibibyte);
  program.read_all(pieces, 256 * kibibyte);
  EXPECT_NE(program.asked, 0U);
  EXPECT_LE(program.asked, 48 * Repetition::most_of_place);
  EXPECT_LE(program.foretold, 48 * 4U) << "the system would not read ahead of what is foretold";
}

TEST(RepetitionTest, WhatDoesNotComeAgainInThatOrderIsNotAskedFor) {
  std::mt19937_64 random(test::seed());
  Places sequence(4000);
  std::iota(sequence.begin(), sequence.end(), 0);
  for (std::uint64_t& place : sequence) {
    place *= 64 * kibibyte;
  }
  Places any(40000);
  for (const std::size_t among : {16U, 100U, 1000U, 8000U}) {
    Program program;
    for (std::uint64_t& place : any) {
      place = random() % among * mebibyte / 2;
    }
    program.read_all(any, page);
    EXPECT_EQ(program.asked, 0U) << "any of " << among;
    Program shuffles;
    Places places = shuffled(among, random);
    for (int pass = 0; pass < 5; ++pass) {
      shuffles.read_all(places, page);
      EXPECT_EQ(shuffles.asked, 0U) << "another order of " << among;
      std::ranges::shuffle(places, random);
    }
  }
  Program program;
  for (int pass = 0; pass < 3; ++pass) {
    program.read_all(sequence, 64 * kibibyte);
    EXPECT_EQ(program.asked, 0U) << "in sequence the system reads ahead itself";
  }
}

TEST(RepetitionTest, ReadersThatTakeTurnsNeedNotKeepTheirOrder) {
  std::mt19937_64 random(test::seed());
  Places places = shuffled(2000, random);
  Program program;
  program.read_all(places, page);
  for (std::size_t i = 0; i + 1 < places.size(); i += 2) {
    std::swap(places[i], places[i + random() % 2]);
  }
  program.read_all(places, page);
  EXPECT_GE(program.from_memory, 1980U);
  EXPECT_LE(program.counts->wasted, 20 * page);
}

TEST(RepetitionTest, APlaceThatIsReadInBetweenDoesNotMatter) {
  std::mt19937_64 random(test::seed());
  Places places;
  for (const std::uint64_t place : shuffled(1000, random)) {
    places.insert(places.end(), {1000 * page, place + 8 * page});  // as the root of an index
  }
  Program program;
  program.read_all(places, page);
  program.read_all(places, page);
  EXPECT_GE(program.foretold, 950U);
}

TEST(RepetitionTest, WasteIsBoundedWhereTheOrderIsLeftAndThenNothingIsAskedForDuringARest) {
  std::mt19937_64 random(test::seed());
  const Places places = shuffled(8000, random);
  const Places first(places.begin(), places.begin() + 4000);
  for (const std::uint64_t bytes : {page, 64 * kibibyte}) {
    Program program;
    program.read_all(first, bytes);
    Places left(first.begin(), first.begin() + 200);
    left.insert(left.end(), places.begin() + 4000, places.begin() + 4300);
    program.read_all(left, bytes);
    EXPECT_NE(program.asked, 0U);
    EXPECT_LE(program.counts->wasted, Detector::allowance + 200 * bytes) << "no more than has come true";
    EXPECT_EQ(program.repetition->outstanding(), 0U) << "it is decided";
    EXPECT_EQ(program.counts->used + program.counts->wasted, program.asked);
    Places shorter(first.begin(), first.begin() + 100);
    program.read_all(shorter, bytes);
    program.read_all(shorter, bytes);
    EXPECT_EQ(program.asked, 0U) << "it rests";
  }
}

TEST(RepetitionTest, WhatLiesNearIsOneRequestIfTheGapCostsLess) {
  std::mt19937_64 random(test::seed());
  Places places = shuffled(16384, random);  // of the whole file: dense
  places.resize(4000);
  for (std::uint64_t& place : places) {
    place /= 16;
  }
  std::array<std::uint64_t, 2> requests{};
  for (const bool joined : {false, true}) {
    Program program(64 * mebibyte, joined ? 256 * kibibyte : 0);
    program.read_all(places, page);
    program.read_all(places, page);
    requests[joined ? 1 : 0] = program.requests;
    EXPECT_GE(program.from_memory, 3980U);
  }
  EXPECT_LT(requests[1], requests[0] * 3 / 4);
}

TEST(RepetitionTest, ASmallWindowIsKept) {
  std::mt19937_64 random(test::seed());
  const Places places = shuffled(1000, random);
  Program program(mebibyte);  // `read` looks at what is under way
  program.read_all(places, 64 * kibibyte);
  program.read_all(places, 64 * kibibyte);
  EXPECT_GE(program.from_memory, 980U);
}

TEST(RepetitionTest, OfAnotherContentNothingIsKnown) {
  std::mt19937_64 random(test::seed());
  const Places places = shuffled(1000, random);
  Program program;
  program.read_all(places, page);
  program.repetition->forget(*program.counts);
  program.read_all(places, page);
  EXPECT_EQ(program.asked, 0U);
  program.read_all(places, page);
  EXPECT_NE(program.asked, 0U) << "it has been learned again";
}

TEST(RepetitionTest, WhateverIsInTheMemoryNothingElseIsTouched) {
  // AddressSanitizer sees to it.
  const std::uint64_t seed = test::seed();
  std::mt19937_64 random(seed);
  const Places places = shuffled(300, random);
  for (int round = 0; round < 200; ++round) {
    auto repetition = std::make_unique<Repetition>();
    Detector::Counts counts{};
    std::array<Range, 64> ranges{};
    for (std::size_t number = 0; number < 4 * places.size(); ++number) {
      if (random() % 20 == 0) {
        const std::uint32_t word = random() % 2 == 0 ? UINT32_MAX : static_cast<std::uint32_t>(random());
        // Those in front, but for the flag, and any.
        const std::size_t at = 4 + 4 * (random() % (random() % 2 == 0 ? 30 : sizeof(Repetition) / 4 - 1));
        std::memcpy(reinterpret_cast<std::byte*>(repetition.get()) + at, &word, sizeof word);
      }
      repetition->note(places[number % places.size()], page, {size, 64 * mebibyte, 0}, counts);
      EXPECT_LE(repetition->take(ranges.data(), ranges.size(), 256 * kibibyte), ranges.size());
    }
    repetition->forget(counts);
  }
}

}  // namespace
}  // namespace dovetail::prefetching
