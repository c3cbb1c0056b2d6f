#include "base/topology.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <set>
#include <thread>

namespace dovetail::base {
namespace {

std::set<unsigned> allowed_by_the_system() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::set<unsigned> result;
  for (unsigned i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &set)) {
      result.insert(i);
    }
  }
  return result;
}

std::multiset<unsigned> discovered() {
  std::multiset<unsigned> result;
  for (const Topology::Unit& unit : discover_topology().units) {
    result.insert(unit.processor);
  }
  return result;
}

TEST(TopologyTest, EveryAllowedProcessorOnce) {
  const std::set<unsigned> allowed = allowed_by_the_system();
  const std::multiset<unsigned> found = discovered();
  EXPECT_TRUE(std::equal(found.begin(), found.end(), allowed.begin(), allowed.end()));
  EXPECT_EQ(allowed_processors(), allowed.size());
}

TEST(TopologyTest, FollowsTheAffinityOfTheThread) {
  std::thread([] {
    const unsigned one = *allowed_by_the_system().rbegin();
    ASSERT_TRUE(bind_to_processor(one));
    EXPECT_EQ(allowed_processors(), 1U);
    EXPECT_EQ(discovered(), std::multiset<unsigned>{one});
    EXPECT_EQ(sched_getcpu(), static_cast<int>(one));
  }).join();
}

TEST(TopologyTest, BindingToAProcessorThatIsNotThere) {
  std::thread([] { EXPECT_FALSE(bind_to_processor(CPU_SETSIZE - 1)); }).join();
}

}  // namespace
}  // namespace dovetail::base
