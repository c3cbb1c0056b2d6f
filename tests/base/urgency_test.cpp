// Which request goes first, and how far the others may fall behind.
// One thread.
#include "base/urgency.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace dovetail::base {
namespace {

struct Item {
  Item* next = nullptr;
  Urgency urgency = Urgency::program;
  int number = 0;
};

std::vector<Item> items(unsigned count, Urgency urgency) {
  std::vector<Item> made(count);
  for (unsigned i = 0; i < count; ++i) {
    made[i].urgency = urgency;
    made[i].number = static_cast<int>(i);
  }
  return made;
}

TEST(UrgencyQueue, TheMoreUrgentGoFirstAndEachInTheirOrder) {
  UrgencyQueue<Item> queue;
  auto prefetches = items(3, Urgency::prefetch);
  auto drains = items(3, Urgency::drain);
  auto of_program = items(3, Urgency::program);
  for (unsigned i = 0; i < 3; ++i) {
    queue.push(prefetches[i]);
    queue.push(drains[i]);
    queue.push(of_program[i]);
  }
  EXPECT_EQ(queue.size(), 9U);
  for (auto* expected : {&of_program, &drains, &prefetches}) {
    for (Item& item : *expected) {
      EXPECT_EQ(queue.front(), &item);
      EXPECT_EQ(queue.pop(), &item);
    }
  }
  EXPECT_EQ(queue.pop(), nullptr);
  EXPECT_EQ(queue.front(), nullptr);
}

// However the queue is filled: the foremost of a lower urgency is overtaken by no more than it is said to be.
TEST(UrgencyQueue, NobodyIsOvertakenForEver) {
  const char* const given = std::getenv("DOVETAIL_TEST_SEED");
  const auto seed = given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device{}();
  std::printf("DOVETAIL_TEST_SEED=%u\n", seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    UrgencyQueue<Item> queue;
    std::vector<Item> all(400);
    std::array<unsigned, 3> waiting{};
    // Of the foremost one of each urgency: how many of each other have gone since it was the foremost.
    std::array<std::array<unsigned, 3>, 3> gone{};
    const auto pressure = static_cast<unsigned>(1 + random() % 9);  // of the program
    std::size_t come = 0;
    while (come < all.size() || !queue.empty()) {
      if (come < all.size() && (queue.empty() || random() % 3 != 0)) {
        Item& item = all[come++];
        item.urgency = random() % 10 < pressure ? Urgency::program
                       : random() % 2 == 0      ? Urgency::drain
                                                : Urgency::prefetch;
        ++waiting[static_cast<unsigned>(item.urgency)];
        queue.push(item);
        continue;
      }
      const auto taken = static_cast<unsigned>(queue.pop()->urgency);
      --waiting[taken];
      gone[taken] = {};
      for (unsigned other = 0; other < 3; ++other) {
        gone[other][taken] += other != taken && waiting[other] > 0 ? 1 : 0;
      }
      ASSERT_LE(gone[1][0], 8U);
      ASSERT_LE(gone[1][0] + gone[1][2], 9U);
      ASSERT_LE(gone[2][0] + gone[2][1], 16U);
    }
  }
}

TEST(UrgencyQueue, WhatIsTakenOutIsGoneAndTheRestStaysInOrder) {
  UrgencyQueue<Item> queue;
  auto drains = items(6, Urgency::drain);
  auto of_program = items(6, Urgency::program);
  for (unsigned i = 0; i < 6; ++i) {
    queue.push(drains[i]);
    queue.push(of_program[i]);
  }
  Fifo<Item> taken = queue.take([](const Item& item) { return item.number % 2 == 0; });
  EXPECT_EQ(taken.size(), 6U);
  EXPECT_EQ(queue.size(), 6U);
  for (const int number : {1, 3, 5}) {
    EXPECT_EQ(queue.pop(), &of_program[static_cast<std::size_t>(number)]);
  }
  for (const int number : {1, 3, 5}) {
    EXPECT_EQ(queue.pop(), &drains[static_cast<std::size_t>(number)]);
  }
}

}  // namespace
}  // namespace dovetail::base
