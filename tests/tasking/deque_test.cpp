// The queue of a worker: one owner, any number of thieves, no task lost or taken twice.
#include "tasking/deque.hpp"

#include <malloc.h>

#include "base/sanitizer.hpp"
#include "support.hpp"

namespace dovetail::test {
namespace {

using tasking::Deque;

// The deque never looks into a task, so any address does.
detail::Task* number(std::size_t value) { return reinterpret_cast<detail::Task*>((value + 1) * 64); }
std::size_t value_of(detail::Task* task) { return reinterpret_cast<std::uintptr_t>(task) / 64 - 1; }

TEST(DequeTest, NewestFirstForTheOwner) {
  Deque deque;
  EXPECT_EQ(deque.pop(), nullptr);
  for (std::size_t i = 0; i < 5'000; ++i) {
    deque.push(number(i));
  }
  EXPECT_EQ(deque.size(), 5'000);
  for (std::size_t i = 5'000; i > 0; --i) {
    EXPECT_EQ(deque.newest(), number(i - 1));
    ASSERT_EQ(deque.pop(), number(i - 1));
  }
  EXPECT_EQ(deque.newest(), nullptr);
  EXPECT_EQ(deque.pop(), nullptr);
}

TEST(DequeTest, GrowsWhereverItsWindowLies) {
  Deque deque;
  std::size_t next = 0;
  std::size_t popped = 0;
  Random random(1);
  std::vector<std::size_t> reference;
  for (int i = 0; i < 100'000; ++i) {
    if (random.between(0, 9) < 6 || reference.empty()) {
      deque.push(number(next));
      reference.push_back(next++);
    } else {
      ASSERT_EQ(deque.pop(), number(reference.back()));
      reference.pop_back();
      ++popped;
    }
  }
  EXPECT_EQ(deque.size(), static_cast<std::int64_t>(next - popped));
}

// Room of tasks that were stolen is used again.
TEST(DequeTest, NeedsNoMoreMemoryForHoweverManyThatCameAndWent) {
#if DOVETAIL_ADDRESS_SANITIZER || DOVETAIL_THREAD_SANITIZER
  GTEST_SKIP() << "the sanitizer does not say what is in use";
#endif
  constexpr std::size_t tasks = 200'000;
  const auto bytes_in_use = [] {
    const struct mallinfo2 heap = mallinfo2();
    return heap.uordblks + heap.hblkhd;
  };
  Deque deque;
  const std::size_t before = bytes_in_use();
  for (std::size_t i = 0; i < tasks; ++i) {
    detail::Task* stolen = nullptr;
    deque.push(number(i));
    ASSERT_EQ(deque.steal(&stolen, 1), 1U);
    ASSERT_EQ(stolen, number(i));
  }
  EXPECT_LT(bytes_in_use(), before + tasks);
}

TEST(DequeTest, ThievesTakeTheOldestAndAtMostHalf) {
  Deque deque;
  detail::Task* batch[Deque::largest_batch];
  EXPECT_EQ(deque.steal(batch, Deque::largest_batch), 0U);
  for (std::size_t i = 0; i < 10; ++i) {
    deque.push(number(i));
  }
  const std::size_t taken = deque.steal(batch, Deque::largest_batch);
  ASSERT_GE(taken, 1U);
  ASSERT_LE(taken, 5U);
  for (std::size_t i = 0; i < taken; ++i) {
    EXPECT_EQ(batch[i], number(i));
  }
  EXPECT_EQ(deque.pop(), number(9));
  EXPECT_EQ(deque.size(), static_cast<std::int64_t>(9 - taken));
}

TEST(DequeTest, NeverLostNeverTwice) {
  for (std::uint64_t round = 0; round < scaled(6, 2); ++round) {
    Random random(round);
    Deque deque;
    const std::size_t count = scaled(500'000, 30'000);
    std::vector<std::atomic<std::uint8_t>> taken(count);
    std::atomic<bool> over{false};
    std::vector<std::thread> thieves;
    for (std::uint64_t t = random.between(1, 4); t > 0; --t) {
      thieves.emplace_back([&, t] {
        Random own(round * 10 + t);
        detail::Task* batch[Deque::largest_batch];
        while (!over.load()) {
          const std::size_t got = deque.steal(batch, own.between(1, Deque::largest_batch));
          for (std::size_t i = 0; i < got; ++i) {
            taken[value_of(batch[i])].fetch_add(1);
          }
          stumble(own);
        }
      });
    }
    // Mostly nearly empty, where owner and thieves meet.
    for (std::size_t next = 0; next < count;) {
      for (std::uint64_t burst = random.between(1, random.once_in(50) ? 3'000 : 4); burst > 0 && next < count;
           --burst) {
        deque.push(number(next++));
      }
      for (std::uint64_t burst = random.between(0, 6); burst > 0; --burst) {
        if (detail::Task* task = deque.pop()) {
          taken[value_of(task)].fetch_add(1);
        }
      }
    }
    while (detail::Task* task = deque.pop()) {
      taken[value_of(task)].fetch_add(1);
    }
    await([&] { return deque.size() <= 0; });
    over.store(true);
    for (auto& thief : thieves) {
      thief.join();
    }
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(taken[i].load(), 1) << i;
    }
  }
}

}  // namespace
}  // namespace dovetail::test
