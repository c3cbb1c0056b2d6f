// What `in`, `out`, `inout` and `commutative` make of what they are given, and the list that holds it.
#include <array>
#include <deque>

#include "support.hpp"

namespace dovetail::test {
namespace {

std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

void expect_region(const Access& access, const void* begin, std::size_t length) {
  EXPECT_EQ(access.region.space, 0U);
  EXPECT_EQ(access.region.begin, address(begin));
  EXPECT_EQ(access.region.length, length);
}

TEST(AccessTest, Modes) {
  const int data = 0;
  EXPECT_EQ(in(data).mode, AccessMode::in);
  EXPECT_EQ(out(data).mode, AccessMode::out);
  EXPECT_EQ(inout(data).mode, AccessMode::inout);
  EXPECT_EQ(commutative(data).mode, AccessMode::commutative);
  EXPECT_EQ(in(&data).mode, AccessMode::in);
  EXPECT_EQ(out(&data, 2).mode, AccessMode::out);
  EXPECT_EQ(inout(&data).mode, AccessMode::inout);
  EXPECT_EQ(commutative(&data, 3).mode, AccessMode::commutative);
  EXPECT_EQ(in(Region{1, 2, 3}).mode, AccessMode::in);
  EXPECT_EQ(out(Region{1, 2, 3}).mode, AccessMode::out);
  EXPECT_EQ(inout(Region{1, 2, 3}).mode, AccessMode::inout);
  EXPECT_EQ(commutative(Region{1, 2, 3}).mode, AccessMode::commutative);
}

TEST(AccessTest, ObjectsStandForTheirOwnBytes) {
  double number = 0;
  struct Pair {
    int first, second;
  } pair{};
  std::deque<int> no_contiguous_range(5);
  expect_region(in(number), &number, sizeof number);
  expect_region(in(pair), &pair, sizeof pair);
  expect_region(out(no_contiguous_range), &no_contiguous_range, sizeof no_contiguous_range);
}

TEST(AccessTest, RangesStandForTheirElements) {
  std::vector<int> vector(10);
  std::array<short, 4> array{};
  long plain[7] = {};
  const long constant[7] = {};
  std::string text = "a text";
  expect_region(in(vector), vector.data(), 40);
  expect_region(out(array), array.data(), 8);
  expect_region(inout(plain), plain, sizeof plain);
  expect_region(in(constant), constant, sizeof constant);
  expect_region(in(text), text.data(), 6);
  expect_region(out(std::span(vector).subspan(2, 3)), &vector[2], 12);
  expect_region(in(std::string_view(text).substr(2)), text.data() + 2, 4);
}

TEST(AccessTest, WhatIsEmpty) {
  const std::vector<int> vector;
  expect_region(in(vector), &vector, sizeof vector);
  int data = 0;
  expect_region(in(std::span<int>(&data, 0)), &data, 0);
}

TEST(AccessTest, PointersStandForWhatTheyPointTo) {
  int data[5] = {};
  expect_region(in(&data[1]), &data[1], 4);
  expect_region(out(&data[1], 3), &data[1], 12);
  const void* raw = data;
  expect_region(inout(raw, 9), data, 9);
}

TEST(AccessTest, RegionsAreTakenAsTheyAre) {
  const Access access = in(Region{4, 5, 6});
  EXPECT_EQ(access.region.space, 4U);
  EXPECT_EQ(access.region.begin, 5U);
  EXPECT_EQ(access.region.length, 6U);
}

TEST(AccessTest, ListsOfAllLengths) {
  for (std::size_t count = 0; count <= 3 * AccessList::inline_capacity; ++count) {
    std::vector<Access> accesses;
    for (std::size_t i = 0; i < count; ++i) {
      accesses.push_back(out(Region{i, i + 1, i + 2}));
    }
    const AccessList list{std::span<const Access>(accesses)};
    AccessList copy = list;
    AccessList assigned{in(Region{9, 9, 9})};
    assigned = copy;
    assigned = *&assigned;
    for (const AccessList* each :
         {&list, static_cast<const AccessList*>(&copy), static_cast<const AccessList*>(&assigned)}) {
      ASSERT_EQ(each->size(), count);
      EXPECT_EQ(each->empty(), count == 0);
      EXPECT_EQ(static_cast<std::size_t>(each->end() - each->begin()), count);
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(each->begin()[i].region.space, i);
        EXPECT_EQ(each->begin()[i].region.length, i + 2);
      }
    }
  }
}

}  // namespace
}  // namespace dovetail::test
