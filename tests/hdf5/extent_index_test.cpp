#include "extent_index.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bitset>
#include <random>

namespace {

using dovetail::hdf5::Range;
using dovetail::hdf5::RangeSet;

TEST(RangeSetTest, IsASetOfBytes) {
  constexpr std::size_t bytes = 64;
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::minstd_rand chance(seed);
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

}  // namespace
