// A worker's fibers and the pool of all: what rests in vain goes back to the system.
#include "tasking/fiber_cache.hpp"

#include <gtest/gtest.h>

#include "fiber/stack_pool.hpp"

namespace dovetail::tasking {
namespace {

class FiberCacheTest : public testing::Test {
 protected:
  fiber::StackPool stacks_{64 * 1024};
  int asked_ = 0;  // How often the pool has asked for rounds.
  FiberPool pool_{stacks_, [](void*) {}, [this] { ++asked_; }};
  FiberCache cache_{pool_};
};

// Nobody else may ever pause a task: the sleeper itself has to ask, or it would keep its fibers for as long as it sleeps.
TEST_F(FiberCacheTest, ASleeperAsksForTheRoundThatTakesItsFibers) {
  cache_.before_sleep();
  EXPECT_EQ(asked_, 0) << "it keeps nothing";
  cache_.release(cache_.acquire());
  cache_.before_sleep();
  EXPECT_EQ(asked_, 1);
  EXPECT_TRUE(cache_.keeps_any()) << "it may be needed at once";

  EXPECT_FALSE(pool_.give_back_surplus());
  cache_.before_sleep();
  EXPECT_FALSE(cache_.keeps_any()) << "a round has passed";
  EXPECT_EQ(asked_, 2) << "the pool has something to give back now";
  EXPECT_TRUE(pool_.give_back_surplus()) << "it may still be needed";
  EXPECT_FALSE(pool_.give_back_surplus());
}

}  // namespace
}  // namespace dovetail::tasking
