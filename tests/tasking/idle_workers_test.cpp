// The list of idle workers by itself: which one is woken, how many are idle, and how many are looking for work.
#include "tasking/idle_workers.hpp"

#include <algorithm>
#include <deque>

#include "support.hpp"

namespace dovetail::test {
namespace {

using tasking::IdleWorkers;
using tasking::Sleeper;

class IdleWorkersTest : public testing::Test {
 protected:
  static constexpr unsigned workers = 5;
  IdleWorkersTest() {
    for (unsigned worker = 0; worker < workers; ++worker) {
      idle_.add(sleepers_.emplace_back(nullptr, worker));
    }
  }
  IdleWorkers idle_;
  std::deque<Sleeper> sleepers_;
};

TEST_F(IdleWorkersTest, NobodyIsWokenWhereNobodyIsIdle) {
  EXPECT_FALSE(idle_.lacks_searcher());
  idle_.notify();
  idle_.wake_one();
  EXPECT_EQ(idle_.searching(), 0U);
  EXPECT_FALSE(idle_.leave(0));
}

TEST_F(IdleWorkersTest, AWokenWorkerCountsAsOneThatSearchesAndNoOtherIsWoken) {
  idle_.enter(3);
  idle_.enter(1);
  EXPECT_TRUE(idle_.lacks_searcher());
  idle_.notify();
  EXPECT_EQ(idle_.count(), 1U);
  EXPECT_EQ(idle_.searching(), 1U);
  idle_.notify();
  EXPECT_EQ(idle_.count(), 1U) << "one is looking already";
  EXPECT_FALSE(idle_.leave(1)) << "the one that slept for the shortest time was woken";
  sleepers_[1].park(base::TimePoint::max());  // which would wait for ever
  EXPECT_TRUE(idle_.end_search());
  EXPECT_TRUE(idle_.leave(3));
  EXPECT_EQ(idle_.count(), 0U);
}

// Workers enter, leave by themselves, and are woken, in any order.
TEST_F(IdleWorkersTest, KeepsEachIdleWorkerOnce) {
  Random random(1);
  std::vector<unsigned> expected;
  for (int step = 0; step < 10'000; ++step) {
    const auto worker = static_cast<unsigned>(random.between(0, workers - 1));
    const auto found = std::find(expected.begin(), expected.end(), worker);
    if (random.once_in(4)) {
      const unsigned searching = idle_.searching();
      idle_.wake_one();
      ASSERT_EQ(idle_.searching(), searching + (expected.empty() ? 0 : 1));
      // The list fills the place of one that left by itself with its last one. So only the number of those that are left is promised.
      std::vector<unsigned> left;
      for (const unsigned other : expected) {
        if (idle_.leave(other)) {
          left.push_back(other);
        }
      }
      ASSERT_EQ(left.size(), expected.empty() ? 0 : expected.size() - 1);
      for (const unsigned other : left) {
        idle_.enter(other);
      }
      expected = left;
    } else if (found != expected.end()) {
      ASSERT_TRUE(idle_.leave(worker));
      expected.erase(found);
    } else {
      ASSERT_FALSE(idle_.leave(worker));
      idle_.enter(worker);
      expected.push_back(worker);
    }
    ASSERT_EQ(idle_.count(), expected.size());
  }
}

}  // namespace
}  // namespace dovetail::test
