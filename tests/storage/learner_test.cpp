// What the learner concludes from devices whose speeds are known.
#include "storage/learner.hpp"

#include "base/clock.hpp"
#include "support.hpp"

namespace dovetail::storage {
namespace {

constexpr std::array<Route, 3> routes = {Route{false, 16}, Route{false, 64}, Route{true, 16}};

// The way that a route belongs to, whatever its depth. Depths up to 32 are shallow.
std::size_t way_of(const Route& route) { return route.threads ? 2 : route.depth <= 32 ? 0 : 1; }

// Lets `requests` requests of 4 KiB end on a device that needs `microseconds(route)` for each.
template <class Device>
void run_on(Learner& learner, std::uint64_t& now, unsigned requests, unsigned outstanding, Device&& microseconds) {
  for (unsigned i = 0; i < requests; ++i) {
    now +=
        static_cast<std::uint64_t>(microseconds(learner.route()) * static_cast<double>(base::ticks_per_microsecond()));
    learner.ended(now, 4096, outstanding);
  }
}

void run(Learner& learner, std::uint64_t& now, unsigned requests, unsigned outstanding,
         std::array<double, 3> microseconds) {
  run_on(learner, now, requests, outstanding, [&](const Route& route) { return microseconds[way_of(route)]; });
}

// What a device that works on `channels` requests at once, each for `microseconds`, needs for one at a depth.
auto device(unsigned channels, double microseconds) {
  return [=](const Route& route) {
    return (route.threads ? 3.0 : 1.0) * microseconds / std::min<double>(channels, route.depth);
  };
}

// Requests after which every search is over, and the next look is far away.
constexpr unsigned settled = 12000;

TEST(Learner, GrowsTheDepthWhileThatMovesMore) {
  Learner learner(routes, false);
  std::uint64_t now = 0;
  run_on(learner, now, 2 * settled, 500, device(256, 1000));
  EXPECT_EQ(learner.finding(Learner::many).route, (Route{false, 256}));  // whether another look has begun or not
}

TEST(Learner, ShrinksALongQueueWhileThatCostsNothing) {
  Learner learner(routes, false);
  std::uint64_t now = 0;
  run_on(learner, now, settled, 500, device(4, 9000));
  EXPECT_EQ(learner.route(), (Route{false, 4}));
  // Half of it would do on one channel, and takes 9 ms.
  Learner slower(routes, false);
  run_on(slower, now, settled, 500, device(1, 4500));
  EXPECT_EQ(slower.route(), (Route{false, 2}));
}

TEST(Learner, LeavesAShortQueueDeep) {
  Learner learner(routes, false);
  std::uint64_t now = 0;
  run_on(learner, now, settled, 500, device(4, 100));
  EXPECT_EQ(learner.route(), (Route{false, 64}));
}

TEST(Learner, TheDepthStaysWithinItsBounds) {
  Learner deep(routes, false);
  std::uint64_t now = 0;
  run_on(deep, now, settled, 5000, device(100000, 10000));
  EXPECT_EQ(deep.route(), (Route{false, 1024}));
  Learner shallow(routes, false);
  run_on(shallow, now, settled, 500, [](const Route& route) { return route.threads ? 30000.0 : 10001.0; });
  EXPECT_EQ(shallow.route(), (Route{false, 1}));
}

TEST(Learner, BeginsWithTheFirstCandidate) {
  Learner learner(routes, false);
  EXPECT_EQ(learner.route(), routes[0]);
}

TEST(Learner, FindsThreadsWhereTheyAreClearlyFaster) {
  Learner learner(routes, false);
  std::uint64_t now = 0;
  run(learner, now, settled, 16, {20, 20, 10});
  EXPECT_TRUE(learner.route().threads);
  EXPECT_TRUE(learner.finding(Learner::some).known);
}

TEST(Learner, KeepsTheRingWhereThreadsAreHardlyFaster) {
  Learner learner(routes, false);
  std::uint64_t now = 0;
  run(learner, now, settled, 16, {20, 20, 19});
  EXPECT_FALSE(learner.route().threads);
}

TEST(Learner, ThreadsThatWereLuckyTwiceOfThreeTimesAreNotTaken) {
  Learner learner(routes, false);
  std::uint64_t now = 0;
  unsigned trials = 0;  // by threads
  bool before = false;
  run_on(learner, now, settled, 16, [&](const Route& route) {
    trials += route.threads && !before ? 1 : 0;
    before = route.threads;
    return !route.threads ? 20.0 : trials == 2 ? 22.0 : 15.0;
  });
  EXPECT_GE(trials, 3U);
  EXPECT_FALSE(learner.route().threads);
}

TEST(Learner, FindsTheBetterDepth) {
  Learner learner(routes, false);
  std::uint64_t now = 0;
  run(learner, now, settled, 64, {20, 15, 40});
  EXPECT_EQ(learner.route(), routes[1]);
}

// Requests of a program that keeps so many under way, on a device that ends all it has been given at one moment, and then takes as long
// for each as for any other: how deep its queue is makes no difference.
void run_in_crowds(Learner& learner, std::uint64_t& now, unsigned requests, unsigned together) {
  for (unsigned done = 0; done < requests;) {
    const unsigned crowd = std::min<unsigned>(together, learner.route().depth);
    now += crowd * std::uint64_t{20} * base::ticks_per_microsecond();
    for (unsigned i = 0; i < crowd; ++i, ++done) {
      now += 1;
      learner.ended(now, 4096, together - 1 - i);
    }
  }
}

TEST(Learner, MeasuresCrowdsWithTheGapsThatTheyFill) {
  for (const unsigned together : {24U, 64U, 100U}) {
    Learner learner({Route{false, 256}, Route{false, 16}, Route{true, 4}}, false);
    std::uint64_t now = 0;
    run_in_crowds(learner, now, settled, together);
    const Learner::Finding& finding = learner.finding(together < Learner::many_from ? Learner::some : Learner::many);
    ASSERT_TRUE(finding.known) << together;
    for (const double rate : finding.rate) {
      EXPECT_NEAR(rate, 4096 / 20.0, 0.03 * 4096 / 20.0) << together;
    }
  }
}

TEST(Learner, TellsLoadsApart) {
  Learner learner(routes, false);
  std::uint64_t now = 0;
  run(learner, now, settled, 16, {20, 20, 10});
  run(learner, now, settled, 64, {20, 15, 40});
  EXPECT_EQ(learner.route(), routes[1]);
  run(learner, now, 200, 16, {20, 20, 10});
  EXPECT_TRUE(learner.route().threads);
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
  EXPECT_TRUE(learner.route().threads);
  run(learner, now, 60000, 16, {10, 10, 40});
  EXPECT_FALSE(learner.route().threads);
}

TEST(Learner, LeavesOutWhatIsHopeless) {
  Learner learner(routes, false);
  std::uint64_t now = 0;
  run(learner, now, settled, 16, {20, 20, 100});
  unsigned by_threads = 0;
  unsigned looks = 0;
  Route before = learner.route();
  for (int i = 0; i < 250000; ++i) {
    run(learner, now, 1, 16, {20, 20, 100});
    by_threads += learner.route().threads ? 1 : 0;
    looks += learner.route() != before ? 1 : 0;
    before = learner.route();
  }
  EXPECT_GT(looks, 0U);
  EXPECT_EQ(by_threads, 0U);
}

TEST(Learner, SpendsLittleOnLooks) {
  Learner learner(routes, false);
  std::uint64_t now = 0;
  run(learner, now, settled, 64, {20, 15, 19});
  ASSERT_EQ(learner.route(), routes[1]);
  unsigned elsewhere = 0;
  constexpr unsigned requests = 500000;
  for (unsigned i = 0; i < requests; ++i) {
    run(learner, now, 1, 64, {20, 15, 19});
    elsewhere += learner.route() != routes[1] ? 1 : 0;
    // The first look took thousands, so that it is long until the next one.
    ASSERT_TRUE(i > 45000 || elsewhere == 0) << i;
  }
  EXPECT_GT(elsewhere, 0U);
  EXPECT_LT(elsewhere, requests / 40);
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
  run(first, now, settled, 16, {20, 20, 10});
  Learner second(routes, false);
  second.adopt(first);
  run(second, now, 200, 16, {20, 20, 10});
  EXPECT_TRUE(second.route().threads);
  EXPECT_NE(second.explain().find("threads"), std::string::npos);
}

}  // namespace
}  // namespace dovetail::storage
