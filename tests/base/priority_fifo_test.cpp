// Which item goes first, and that every priority has its turn.
// One thread.
#include "base/priority_fifo.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

namespace dovetail::base {
namespace {

struct Item {
  Item* next = nullptr;
  std::int32_t priority = 0;
  int number = 0;
};

class PriorityFifoTest : public testing::Test {
 protected:
  void push(std::int32_t priority, int number) {
    items_.push_back({nullptr, priority, number});
    fifo.push(items_.back());
  }
  std::vector<int> all(Order order) {
    std::vector<int> numbers;
    while (!fifo.empty()) {
      const Item* const front = fifo.front(order);
      const Item* const item = fifo.pop(order);
      EXPECT_EQ(front, item);
      numbers.push_back(item->number);
    }
    EXPECT_EQ(fifo.pop(order), nullptr);
    EXPECT_EQ(fifo.front(order), nullptr);
    return numbers;
  }

  PriorityFifo<Item> fifo;

 private:
  std::deque<Item> items_;
};

TEST_F(PriorityFifoTest, HighestFirstAndOldestAmongEquals) {
  push(0, 1);
  push(-3, 2);
  push(5, 3);
  push(0, 4);
  push(5, 5);
  EXPECT_EQ(fifo.size(), 5U);
  EXPECT_EQ(all(Order::by_priority), (std::vector<int>{3, 5, 1, 4, 2}));
}

TEST_F(PriorityFifoTest, InTurnEachPriorityGivesItsOldest) {
  for (int number = 0; number < 3; ++number) {
    for (const std::int32_t priority : {2, 1, -1}) {
      push(priority, 10 * priority + number);
    }
  }
  // The first turn is that of the priority below zero.
  EXPECT_EQ(all(Order::in_turn), (std::vector<int>{-10, 20, 10, -9, 21, 11, -8, 22, 12}));
}

TEST_F(PriorityFifoTest, ALowPriorityIsNotOvertakenForEver) {
  push(1, 0);
  for (int number = 1; number < 100; ++number) {
    push(2, number);
    if (fifo.pop(number % 8 == 0 ? Order::in_turn : Order::by_priority)->number == 0) {
      EXPECT_LE(number, 16);
      return;
    }
  }
  FAIL() << "it never had its turn";
}

TEST_F(PriorityFifoTest, WhatIsNotWantedIsTakenOut) {
  for (int number = 0; number < 6; ++number) {
    push(number % 2, number);
  }
  Fifo<Item> taken = fifo.take([](const Item& item) { return item.number < 2 || item.number == 5; });
  EXPECT_EQ(taken.size(), 3U);
  EXPECT_EQ(fifo.size(), 3U);
  EXPECT_EQ(all(Order::by_priority), (std::vector<int>{3, 2, 4}));
}

}  // namespace
}  // namespace dovetail::base
