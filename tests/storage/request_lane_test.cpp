// How many requests a lane lets in, in which order, and what becomes of those that were given up.
#include "storage/request_lane.hpp"

#include "support.hpp"
#include "tasking/context.hpp"
#include "tasking/pause.hpp"

namespace dovetail::storage {
namespace {

using Entry = RequestLane::Entry;

std::array<Route, Learner::candidates> of_depth(std::uint16_t depth) {
  return {Route{true, depth}, Route{true, depth}, Route{true, depth}};
}

TEST(RequestLane, LetsInAsManyAsItsDepthAndNeverMore) {
  std::mt19937_64 random(test::seed());
  LearnedDevice device(0, 0, 0);
  for (const std::uint16_t depth : std::initializer_list<std::uint16_t>{1, 2, 7, 64}) {
    RequestLane lane(device, buffered_read_small, of_depth(depth), true);
    std::vector<Request> requests(1000);
    std::vector<Request*> inside;
    std::size_t come = 0;
    while (come < requests.size() || !inside.empty()) {
      if (come < requests.size() && (inside.empty() || random() % 2 == 0)) {
        Request& request = requests[come++];
        const Entry entry = lane.enter(request);
        ASSERT_EQ(entry, inside.size() < depth ? Entry::start : Entry::kept) << come;
        if (entry == Entry::start) {
          EXPECT_TRUE(request.on_threads);
          inside.push_back(&request);
        }
      } else {
        const std::size_t which = random() % inside.size();
        const bool others_wait = come > inside.size() && inside.size() == depth;
        RequestQueue next = lane.leave(*inside[which]);
        inside.erase(inside.begin() + static_cast<std::ptrdiff_t>(which));
        ASSERT_LE(next.size(), others_wait ? 1U : 0U);
        while (Request* request = next.pop()) {
          inside.push_back(request);
        }
      }
      ASSERT_LE(inside.size(), depth);
    }
  }
}

TEST(RequestLane, StartsThoseThatWaitInTheirOrder) {
  LearnedDevice device(0, 0, 0);
  RequestLane lane(device, direct_write_large, of_depth(1), true);
  std::array<Request, 5> requests;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    ASSERT_EQ(lane.enter(requests[i]), i == 0 ? Entry::start : Entry::kept);
  }
  for (std::size_t i = 0; i + 1 < requests.size(); ++i) {
    RequestQueue next = lane.leave(requests[i]);
    ASSERT_EQ(next.size(), 1U);
    EXPECT_EQ(next.pop(), &requests[i + 1]);
  }
  EXPECT_TRUE(lane.leave(requests.back()).empty());
}

// Whoever cancels looks through those that wait once. A request that comes afterwards has to see by itself that it was given up.
TEST(RequestLane, DoesNotKeepARequestThatWasGivenUpBefore) {
  Runtime runtime(Options{.workers = 1});
  std::atomic<bool> kept{false};
  auto task = runtime.spawn([&] {
    LearnedDevice device(0, 0, 0);
    RequestLane lane(device, buffered_read_small, of_depth(1), true);
    Request first;
    Request given_up_before;
    Request given_up_while_kept;
    Request of_one_that_tidies_up;  // it began after the cancellation
    for (Request* request : {&first, &given_up_before, &given_up_while_kept, &of_one_that_tidies_up}) {
      request->task = tasking::current_task();
      request->cancellable = request != &of_one_that_tidies_up;
    }
    EXPECT_EQ(lane.enter(first), Entry::start);
    EXPECT_EQ(lane.enter(given_up_while_kept), Entry::kept);
    kept.store(true);
    while (!this_task::cancelled()) {
      this_task::yield();
    }
    EXPECT_EQ(lane.enter(given_up_before), Entry::cancelled);
    EXPECT_EQ(lane.enter(of_one_that_tidies_up), Entry::kept);
    RequestQueue cancelled = lane.take_cancelled();
    ASSERT_EQ(cancelled.size(), 1U);
    EXPECT_EQ(cancelled.pop(), &given_up_while_kept);
    RequestQueue next = lane.leave(first);
    ASSERT_EQ(next.size(), 1U);
    EXPECT_EQ(next.pop(), &of_one_that_tidies_up);
  });
  while (!kept.load()) {
    std::this_thread::yield();
  }
  task.cancel();
  EXPECT_NO_THROW(task.get());
}

}  // namespace
}  // namespace dovetail::storage
