// What has no request, and is tried again and again.
// One thread.
#include "comm/mpi/attempts.hpp"

#include <cstring>
#include <deque>

#include "gtest/gtest.h"

namespace dovetail::comm::mpi::test {
namespace {

class AttemptsTest : public testing::Test {
 protected:
  void add(int count) {
    for (int i = 0; i < count; ++i) {
      Operation& made = operations_.emplace_back();
      made.is_attempt = true;
      const int number = static_cast<int>(operations_.size()) - 1;
      made.start = detail::mpi::Start::of([this, number](void* ended) {
        ++tried_;
        *static_cast<bool*>(ended) = number == has_ended_;
        return number == fails_ ? 15 : 0;
      });
      EXPECT_FALSE(attempts_.add(&made));
    }
    tried_ = 0;
  }
  Operation* ask(unsigned allowed) {
    Looks looks{.allowed = allowed};
    Operation* const ended = attempts_.ask(looks);
    taken_ = looks.taken;
    return ended;
  }

  std::deque<Operation> operations_;
  Attempts attempts_;
  int tried_ = 0;
  unsigned taken_ = 0;
  int has_ended_ = -1;
  int fails_ = -1;
};

TEST_F(AttemptsTest, ALookTriesAFewHoweverManyThereAre) {
  add(3);
  ask(16);
  EXPECT_EQ(tried_, 3);
  EXPECT_EQ(taken_, 1U);
  add(10'000);
  ask(1);
  EXPECT_EQ(tried_, 16);
  EXPECT_EQ(taken_, 1U);
  tried_ = 0;
  ask(10);
  EXPECT_EQ(tried_, 160);
  EXPECT_EQ(taken_, 10U);
}

TEST_F(AttemptsTest, EachIsTriedInARound) {
  add(1'000);
  for (const int number : {999, 0, 500}) {
    has_ended_ = number;
    Operation* ended = nullptr;
    int looks = 0;
    for (; ended == nullptr && looks <= 1'000 / 16; ++looks) {
      ended = ask(1);
    }
    ASSERT_EQ(ended, &operations_[static_cast<std::size_t>(number)]);
    EXPECT_EQ(ended->next, nullptr);
  }
  EXPECT_EQ(attempts_.size(), 997U);
  fails_ = 7;
  Operation* const failed = ask(1'000);
  ASSERT_EQ(failed, &operations_[7]);
  EXPECT_EQ(failed->code, 15);
}

}  // namespace
}  // namespace dovetail::comm::mpi::test
