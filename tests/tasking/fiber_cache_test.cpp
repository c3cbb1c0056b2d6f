// A worker's fibers and the pool of all: what rests in vain goes back to the system.
#include "tasking/fiber_cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "fiber/stack_pool.hpp"

namespace dovetail::tasking {
namespace {

class FiberCacheTest : public testing::Test {
 protected:
  fiber::StackPool stacks_{64 * 1024};
  static constexpr std::chrono::milliseconds nothing_left{0};
  int asked_ = 0;  // How often the pool has asked for rounds.
  FiberPool pool_{stacks_, [](void*) {}, [this] { ++asked_; }};
  FiberCache cache_{pool_};
};

// Other workers may never pause a task. So the sleeper itself has to ask, or it would keep its fibers for as long as it
// sleeps.
TEST_F(FiberCacheTest, ASleeperAsksForTheRoundThatTakesItsFibers) {
  cache_.before_sleep();
  EXPECT_EQ(asked_, 0) << "it keeps nothing";
  cache_.release(cache_.acquire());
  cache_.before_sleep();
  EXPECT_EQ(asked_, 1);
  EXPECT_TRUE(cache_.keeps_any()) << "it may be needed at once";

  EXPECT_EQ(pool_.give_back_surplus(), nothing_left);
  cache_.before_sleep();
  EXPECT_FALSE(cache_.keeps_any()) << "a round has passed";
  EXPECT_EQ(asked_, 2) << "the pool has something to give back now";
  EXPECT_EQ(pool_.give_back_surplus(), FiberPool::between_rounds) << "it may still be needed";
  EXPECT_EQ(pool_.give_back_surplus(), nothing_left);
}

// After 100 000 tasks have paused, their memory is not to come back by half a thousand stacks a second.
TEST_F(FiberCacheTest, WhatASecondHasNotNeededGoesBackInBatchesOneAfterTheOther) {
  constexpr std::size_t count = 2 * FiberPool::batch + 1;
  std::vector<fiber::Fiber*> fibers;
  for (std::size_t i = 0; i < count; ++i) {
    fibers.push_back(pool_.acquire());
  }
  for (fiber::Fiber* fiber : fibers) {
    pool_.release(fiber);
  }
  EXPECT_EQ(pool_.give_back_surplus(), FiberPool::between_rounds) << "they may still be needed";
  EXPECT_EQ(pool_.rounds(), 1U);
  EXPECT_EQ(pool_.give_back_surplus(), FiberPool::between_batches);
  EXPECT_EQ(pool_.rounds(), 1U) << "the round goes on";
  fiber::Fiber* const needed = pool_.acquire();
  EXPECT_EQ(std::ranges::count(fibers, needed), 1);
  EXPECT_EQ(needed, fibers.back()) << "used again from the end";
  EXPECT_EQ(pool_.give_back_surplus(), nothing_left);
  EXPECT_EQ(pool_.rounds(), 2U);
  pool_.release(needed);
}

// Those that were in use meanwhile are no surplus, though they rest again.
TEST_F(FiberCacheTest, WhatIsNeededBetweenTwoBatchesStays) {
  std::vector<fiber::Fiber*> fibers;
  for (std::size_t i = 0; i < 2 * FiberPool::batch; ++i) {
    fibers.push_back(pool_.acquire());
  }
  const auto release_all = [&] {
    for (fiber::Fiber* fiber : fibers) {
      pool_.release(fiber);
    }
  };
  release_all();
  EXPECT_EQ(pool_.give_back_surplus(), FiberPool::between_rounds);
  EXPECT_EQ(pool_.give_back_surplus(), FiberPool::between_batches);
  fibers.resize(FiberPool::batch);
  for (fiber::Fiber*& fiber : fibers) {
    fiber = pool_.acquire();
  }
  release_all();
  EXPECT_EQ(pool_.give_back_surplus(), FiberPool::between_rounds) << "all of the rest was needed";
  std::set<fiber::Fiber*> there;
  for (std::size_t i = 0; i < fibers.size(); ++i) {
    there.insert(pool_.acquire());
  }
  EXPECT_EQ(there, std::set<fiber::Fiber*>(fibers.begin(), fibers.end())) << "none is gone";
  release_all();
}

}  // namespace
}  // namespace dovetail::tasking
