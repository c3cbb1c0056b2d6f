// The word of a task in which waits are entered.
#include "tasking/wait_list.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace dovetail::tasking::test {
namespace {

std::vector<const WaitNode*> closed(WaitWord& waiters) {
  std::vector<const WaitNode*> all;
  for (const WaitNode* node = close_waits(waiters); node != nullptr; node = node->next) {
    all.push_back(node);
  }
  return all;
}

TEST(WaitListTest, TellsThoseThatAreLeftInTheOrderInWhichTheyCame) {
  for (std::size_t gone = 0; gone < 4; ++gone) {
    WaitWord waiters{nullptr};
    std::array<WaitNode, 4> nodes;
    std::vector<const WaitNode*> left;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      EXPECT_TRUE(enlist(waiters, &nodes[i]));
      if (i != gone) {
        left.push_back(&nodes[i]);
      }
    }
    EXPECT_TRUE(withdraw(waiters, &nodes[gone]));
    EXPECT_EQ(closed(waiters), left);
  }
}

TEST(WaitListTest, NobodyEntersOrLeavesOnceTheTaskHasCompleted) {
  WaitWord waiters{nullptr};
  WaitNode node;
  EXPECT_TRUE(enlist(waiters, &node));
  EXPECT_FALSE(is_closed(waiters));
  EXPECT_EQ(closed(waiters), std::vector<const WaitNode*>{&node});
  EXPECT_TRUE(is_closed(waiters));
  EXPECT_FALSE(withdraw(waiters, &node)) << "whoever completes the task has it";
  WaitNode late;
  EXPECT_FALSE(enlist(waiters, &late));
}

TEST(WaitListTest, AWaitEndsOnce) {
  WaitNode node;
  EXPECT_TRUE(node.end(WaitNode::State::done));
  EXPECT_FALSE(node.end(WaitNode::State::abandoned));
  EXPECT_EQ(node.state.load(), WaitNode::State::done);
}

}  // namespace
}  // namespace dovetail::tasking::test
