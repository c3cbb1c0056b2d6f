// A plan in memory is used only if it is what it must be, and only for the file that it is about.
// One thread.
#include "prefetch/plan.hpp"

#include <gtest/gtest.h>

#include <random>

#include "plan_memory.hpp"
#include "prefetch/advice.hpp"
#include "prefetch/follower.hpp"

namespace dovetail::prefetching {
namespace {

constexpr FileIdentity second{7, 2, PlanMemory::size, 100, 5};

TEST(Plan, FindsTheFileByAllThatTellsItFromOthers) {
  PlanMemory memory;
  const Plan plan = memory.file({{0, 10}}).file({{5, 10}}).file({}).plan();
  ASSERT_EQ(plan.files(), 3U);
  EXPECT_EQ(plan.find(second), 1U);
  EXPECT_EQ(plan.file(1).extents[0].offset, 5U);
  for (FileIdentity other : {FileIdentity{8, 2, PlanMemory::size, 100, 5}, FileIdentity{7, 9, PlanMemory::size, 100, 5},
                             FileIdentity{7, 2, 1, 100, 5}, FileIdentity{7, 2, PlanMemory::size, 101, 5},
                             FileIdentity{7, 2, PlanMemory::size, 100, 6}, FileIdentity{0, 0, 0, 0, 0}}) {
    EXPECT_EQ(plan.find(other), plan.files());
  }
  EXPECT_EQ(plan.file(2).count, 0U);
}

TEST(Plan, IsEmptyWhereTheMemoryIsNoPlan) {
  PlanMemory memory;
  memory.file({{0, 10}, {20, 10}}).plan();
  std::vector<std::byte> bytes = memory.bytes();
  EXPECT_EQ(Plan::in(nullptr, 0).files(), 0U);
  EXPECT_EQ(Plan::in(bytes.data(), 0).files(), 0U);
  for (std::size_t shorter = 1; shorter < bytes.size(); ++shorter) {
    EXPECT_EQ(Plan::in(bytes.data(), bytes.size() - shorter).files(), 0U);
  }
  bytes[0] = std::byte{0};
  EXPECT_EQ(Plan::in(bytes.data(), bytes.size()).files(), 0U);
}

TEST(Plan, ItsWindowsAreNarrowerWhileMemoryIsShort) {
  PlanMemory memory;
  const Plan plan = memory.file({{0, 10}}).plan();
  const auto window_with = [&](std::uint64_t part) {
    std::memcpy(memory.bytes().data() + 40, &part, sizeof part);
    return plan.file(0).window;
  };
  EXPECT_EQ(window_with(0), memory.window);
  EXPECT_EQ(window_with(64), memory.window / 4);
  EXPECT_EQ(window_with(1), memory.window / 256);
  EXPECT_EQ(window_with(256), memory.window);
  EXPECT_EQ(window_with(~std::uint64_t{0}), memory.window) << "others can write there";
}

TEST(Plan, WhateverIsInItNothingElseIsTouched) {
  // AddressSanitizer sees to it.
  std::mt19937_64 random(20);
  for (int round = 0; round < 3000; ++round) {
    PlanMemory memory;
    memory.file({{0, 10}, {4096, 10}, {8192, 4096}}).file({{100, 5}}).plan();
    const std::size_t count = memory.bytes().size();
    std::vector<std::byte> bytes = memory.bytes();
    // Not the numbers in the header, without which there is no plan.
    for (int change = 0; change < 1 + round % 20; ++change) {
      bytes[64 + random() % (count - 64)] = static_cast<std::byte>(random());
    }
    const Plan plan = Plan::in(bytes.data(), bytes.size());
    ASSERT_EQ(plan.files(), 2U);
    plan.find(second);
    for (std::uint32_t number = 0; number < plan.files(); ++number) {
      const FilePlan file = plan.file(number);
      for (int read = 0; read < 8; ++read) {
        follow(file, random() % 20000, random() % 9000);
      }
      if (file.count != 0) {
        Advice advice;
        advice.take(file);
        ahead(file);
      }
    }
  }
}

}  // namespace
}  // namespace dovetail::prefetching
