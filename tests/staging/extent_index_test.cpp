// Which bytes are where, compared with an array that says it of each byte.
// One thread.
#include "staging/extent_index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cstring>
#include <list>
#include <memory>
#include <random>
#include <vector>

#include "storage/support.hpp"

namespace dovetail::staging {
namespace {

using test::seed;

TEST(RangeSetTest, IsASetOfBytes) {
  constexpr std::size_t bytes = 64;
  std::mt19937 chance(static_cast<unsigned>(seed()));
  for (unsigned run = 0; run < 200; ++run) {
    RangeSet set;
    std::bitset<bytes> expected;
    for (unsigned step = 0; step < 60; ++step) {
      const std::size_t begin = chance() % bytes;
      const std::size_t length = 1 + chance() % (bytes - begin);
      const bool added = chance() % 2 != 0;
      if (added) {
        set.add(begin, length);
      } else {
        set.remove(begin, length);
      }
      for (std::size_t i = begin; i < begin + length; ++i) {
        expected[i] = added;
      }
      for (std::size_t i = 0; i < bytes; ++i) {
        ASSERT_EQ(set.overlaps({i, 1}), expected[i]) << "byte " << i << " in step " << step;
      }
      ASSERT_EQ(set.overlaps({0, bytes}), expected.any());
    }
  }
}

// A write that is pending: bytes of its own, and an identity.
struct Written {
  std::uint64_t offset;
  std::vector<std::byte> data;
};

// What the index should say: of each byte its newest writer, or none.
class Model {
 public:
  static constexpr std::size_t bytes = 96;

  void insert(const Written& write) {
    for (std::size_t i = 0; i < write.data.size(); ++i) {
      newest_[write.offset + i] = &write;
    }
  }
  void remove(const Written& write) { std::ranges::replace(newest_, &write, static_cast<const Written*>(nullptr)); }
  void erase(std::size_t begin, std::size_t length) {
    std::fill_n(newest_.begin() + static_cast<std::ptrdiff_t>(begin), std::min(length, bytes - begin), nullptr);
  }
  void compare(const ExtentIndex& index, ByteRange range) const {
    constexpr auto untouched = std::byte{0xEE};
    std::vector<std::byte> target(range.length, untouched);
    std::vector<ByteRange> gaps;
    index.copy(range, target.data(), gaps);
    std::vector<bool> gap(range.length);
    std::uint64_t behind = range.offset;
    for (const ByteRange& each : gaps) {
      ASSERT_GE(each.offset, behind) << "gaps are in order and do not touch";
      ASSERT_GT(each.length, 0U);
      behind = each.end();
      ASSERT_LE(behind, range.end());
      std::fill_n(gap.begin() + static_cast<std::ptrdiff_t>(each.offset - range.offset), each.length, true);
    }
    for (std::size_t i = 0; i < range.length; ++i) {
      const Written* const newest = newest_[range.offset + i];
      ASSERT_EQ(gap[i], newest == nullptr) << "byte " << range.offset + i;
      ASSERT_EQ(target[i], newest == nullptr ? untouched : newest->data[range.offset + i - newest->offset]);
    }
    if (range == ByteRange{0, bytes}) {
      EXPECT_EQ(index.empty(), std::ranges::all_of(newest_, [](const Written* each) { return each == nullptr; }));
    }
  }

 private:
  std::array<const Written*, bytes> newest_{};
};

TEST(ExtentIndexTest, KnowsTheNewestOfEachByte) {
  std::mt19937 chance(static_cast<unsigned>(seed()));
  const auto some_range = [&] {
    const std::size_t begin = chance() % Model::bytes;
    return ByteRange{begin, 1 + chance() % (Model::bytes - begin)};
  };
  for (unsigned run = 0; run < 300; ++run) {
    ExtentIndex index;
    Model model;
    std::list<Written> pending;
    for (unsigned step = 0; step < 80; ++step) {
      const unsigned long kind = chance() % 10;
      if (kind < 5) {
        const ByteRange range = some_range();
        Written& write = pending.emplace_back(range.offset, test::random_bytes(range.length, chance()));
        index.insert(range.offset, range.length, write.data.data(), &write);
        model.insert(write);
      } else if (kind < 8 && !pending.empty()) {
        // Writes end in any order.
        const auto ended = std::next(pending.begin(), static_cast<std::ptrdiff_t>(chance() % pending.size()));
        index.remove(ended->offset, ended->data.size(), &*ended);
        model.remove(*ended);
        pending.erase(ended);
      } else {
        const ByteRange range = some_range();
        index.erase(range.offset, range.length);
        model.erase(range.offset, range.length);
      }
      ASSERT_NO_FATAL_FAILURE(model.compare(index, {0, Model::bytes})) << "step " << step;
      ASSERT_NO_FATAL_FAILURE(model.compare(index, some_range())) << "step " << step;
    }
  }
}

TEST(ExtentIndexTest, AnOldWriteThatEndsLateLeavesTheNewerOne) {
  const std::array<std::byte, 8> old{};
  std::array<std::byte, 8> fresh{};
  fresh.fill(std::byte{7});
  ExtentIndex index;
  index.insert(0, 8, old.data(), &old);
  index.insert(2, 4, fresh.data(), &fresh);
  index.remove(0, 8, &old);
  std::array<std::byte, 8> target{};
  std::vector<ByteRange> gaps;
  index.copy({0, 8}, target.data(), gaps);
  EXPECT_EQ(gaps, (std::vector<ByteRange>{{0, 2}, {6, 2}}));
  EXPECT_EQ(target[2], std::byte{7});
  EXPECT_EQ(target[5], std::byte{7});
}

TEST(ExtentIndexTest, ForgetsAllBehindAnOffset) {
  const std::array<std::byte, 8> data{};
  ExtentIndex index;
  index.insert(100, 8, data.data(), &data);
  index.insert(1'000'000, 8, data.data(), &data);
  index.erase(104, UINT64_MAX - 104);
  std::array<std::byte, 8> target{};
  std::vector<ByteRange> gaps;
  index.copy({100, 8}, target.data(), gaps);
  EXPECT_EQ(gaps, (std::vector<ByteRange>{{104, 4}}));
  index.erase(0, UINT64_MAX);
  EXPECT_TRUE(index.empty());
}

}  // namespace
}  // namespace dovetail::staging
