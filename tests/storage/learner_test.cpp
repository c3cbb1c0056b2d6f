// What the learner concludes from devices whose speeds are known.
#include "storage/learner.hpp"

#include "base/clock.hpp"
#include "support.hpp"

namespace dovetail::storage {
namespace {

constexpr std::array<Route, 3> routes = {Route{false, 16}, Route{false, 64}, Route{true, 16}};

// Lets `requests` requests of 4 KiB end on a device that needs `microseconds[i]` for each by way i.
void run(Learner& learner, std::uint64_t& now, unsigned requests, unsigned outstanding,
         std::array<double, 3> microseconds) {
  for (unsigned i = 0; i < requests; ++i) {
    const auto way =
        static_cast<std::size_t>(std::find(routes.begin(), routes.end(), learner.route()) - routes.begin());
    now += static_cast<std::uint64_t>(microseconds[way] * static_cast<double>(base::ticks_per_microsecond()));
    learner.ended(now, 4096, outstanding);
  }
}

TEST(Learner, BeginsWithTheFirstCandidate) {
  Learner learner(routes, false);
  EXPECT_EQ(learner.route(), routes[0]);
}

TEST(Learner, FindsThreadsWhereTheyAreClearlyFaster) {
  Learner learner(routes, false);
  std::uint64_t now = 0;
  run(learner, now, 20000, 16, {20, 20, 10});
  EXPECT_EQ(learner.route(), routes[2]);
  EXPECT_TRUE(learner.finding(Learner::some).known);
}

TEST(Learner, KeepsTheRingWhereThreadsAreHardlyFaster) {
  Learner learner(routes, false);
  std::uint64_t now = 0;
  run(learner, now, 20000, 16, {20, 20, 19});
  EXPECT_EQ(learner.route(), routes[0]);
}

TEST(Learner, FindsTheBetterDepth) {
  Learner learner(routes, false);
  std::uint64_t now = 0;
  run(learner, now, 20000, 64, {20, 15, 40});
  EXPECT_EQ(learner.route(), routes[1]);
}

TEST(Learner, TellsLoadsApart) {
  Learner learner(routes, false);
  std::uint64_t now = 0;
  run(learner, now, 20000, 16, {20, 20, 10});
  run(learner, now, 20000, 64, {20, 15, 40});
  EXPECT_EQ(learner.route(), routes[1]);
  run(learner, now, 200, 16, {20, 20, 10});
  EXPECT_EQ(learner.route(), routes[2]);
}

TEST(Learner, DoesNotTryWithoutLoad) {
  Learner learner(routes, false);
  std::uint64_t now = 0;
  for (int i = 0; i < 50000; ++i) {
    run(learner, now, 1, 0, {20, 10, 10});
    ASSERT_EQ(learner.route(), routes[0]);
  }
}

TEST(Learner, FollowsADeviceThatChanges) {
  Learner learner(routes, false);
  std::uint64_t now = 0;
  run(learner, now, 10000, 16, {20, 20, 10});
  EXPECT_EQ(learner.route(), routes[2]);
  run(learner, now, 60000, 16, {10, 10, 40});
  EXPECT_EQ(learner.route(), routes[0]);
}

TEST(Learner, StaysWhereItIsForced) {
  Learner learner({routes[2], routes[2], routes[2]}, true);
  std::uint64_t now = 0;
  run(learner, now, 50000, 64, {20, 15, 40});
  EXPECT_EQ(learner.route(), routes[2]);
}

TEST(Learner, TakesOverWhatAnotherHasFound) {
  Learner first(routes, false);
  std::uint64_t now = 0;
  run(first, now, 20000, 16, {20, 20, 10});
  Learner second(routes, false);
  second.adopt(first);
  run(second, now, 200, 16, {20, 20, 10});
  EXPECT_EQ(second.route(), routes[2]);
  EXPECT_NE(second.explain().find("threads"), std::string::npos);
}

}  // namespace
}  // namespace dovetail::storage
