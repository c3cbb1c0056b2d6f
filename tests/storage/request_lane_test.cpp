// How many requests a lane lets in, in which order, and what becomes of those that were given up.
#include "storage/request_lane.hpp"

#include "support.hpp"
#include "tasking/context.hpp"
#include "tasking/pause.hpp"

namespace dovetail::storage {
namespace {

using Entry = RequestLane::Entry;

Route of_depth(unsigned depth) { return {true, static_cast<std::uint16_t>(depth)}; }

TEST(RequestLane, LetsInAsManyAsItsDepthAndNeverMore) {
  std::mt19937_64 random(test::seed());
  Device device(0, 0, 0);
  for (const unsigned depth : {1U, 2U, 7U, 64U}) {
    RequestLane lane(device, device::buffered_read_small, of_depth(depth));
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

// The last one that leaves and one that is about to be kept may meet at any instruction: neither may miss the other.
TEST(RequestLane, FromManyThreadsNoneIsForgottenAndNeverAreThereTooMany) {
  std::mt19937_64 random(test::seed());
  for (const unsigned depth : {1U, 1U, 1U, 1U, 2U, 3U}) {
    Device device(0, 0, 0);
    RequestLane lane(device, device::direct_read_small, of_depth(depth));
    constexpr std::size_t threads = 4;
    constexpr std::size_t each = 10000;
    std::vector<std::vector<Request>> requests(threads);
    std::atomic<std::size_t> ended{0};
    std::atomic<unsigned> inside{0};
    std::atomic<bool> too_many{false};
    const auto go_through = [&](Request& first) {
      RequestQueue started;
      started.push(first);
      while (Request* request = started.pop()) {
        too_many = too_many || inside.fetch_add(1) >= depth;
        inside.fetch_sub(1);
        RequestQueue next = lane.leave(*request);
        ended.fetch_add(1);
        while (Request* other = next.pop()) {
          started.push(*other);
        }
      }
    };
    {
      std::vector<std::jthread> callers;
      for (auto& own : requests) {
        own = std::vector<Request>(each);
        for (Request& request : own) {
          request.urgency = static_cast<Urgency>(random() % 3);
        }
        callers.emplace_back([&] {
          for (Request& request : own) {
            if (lane.enter(request) == Entry::start) {
              go_through(request);
            }
          }
        });
      }
    }
    EXPECT_EQ(ended.load(), threads * each) << "with a depth of " << depth;
    EXPECT_FALSE(too_many.load());
    EXPECT_EQ(device.requests_under_way(), 0U);
  }
}

TEST(RequestLane, StartsThoseThatWaitInTheirOrder) {
  Device device(0, 0, 0);
  RequestLane lane(device, device::direct_write_large, of_depth(1));
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

// Requests of a drain and of a prefetch fill the queue first. None of the program waits for more than the one that is under way, and none of the
// others falls behind further than `base::UrgencyQueue` allows.
TEST(RequestLane, TheProgramsRequestsGoFirstAndNobodyStarves) {
  Device device(0, 0, 0);
  RequestLane lane(device, device::direct_read_large, of_depth(1));
  constexpr unsigned each = 100;
  std::vector<Request> requests(3 * each);
  for (unsigned i = 0; i < requests.size(); ++i) {
    requests[i].urgency = i < each ? Urgency::prefetch : i < 2 * each ? Urgency::drain : Urgency::program;
    ASSERT_EQ(lane.enter(requests[i]), i == 0 ? Entry::start : Entry::kept);
  }
  std::array<unsigned, 3> ended{};
  const Request* under_way = &requests[0];
  std::array<unsigned, 3> when_program_had_ended{};
  for (unsigned i = 0; i < requests.size(); ++i) {
    RequestQueue next = lane.leave(*under_way);
    ++ended[static_cast<unsigned>(under_way->urgency)];
    if (ended[0] == each && when_program_had_ended[0] == 0) {
      when_program_had_ended = ended;
    }
    if (i == 1) {
      EXPECT_EQ(under_way->urgency, Urgency::program) << "it waited for one";
    }
    if (i + 1 < requests.size()) {
      ASSERT_EQ(next.size(), 1U);
      under_way = next.pop();
    }
  }
  EXPECT_EQ(ended, (std::array<unsigned, 3>{each, each, each}));
  EXPECT_GE(when_program_had_ended[1], each / 8 - 1);
  EXPECT_LE(when_program_had_ended[1], each / 8 + 1);
  EXPECT_GE(when_program_had_ended[2], each / 16 - 1);
  EXPECT_LE(when_program_had_ended[2], each / 16 + 2);
}

TEST(RequestLane, AsksTheLevelOfItsKind) {
  Device device(0, 0, 0);
  for (unsigned kind = 0; kind < device::request_kinds; ++kind) {
    device.requests(static_cast<device::RequestKind>(kind)).begin_with(10 + kind);
  }
  for (unsigned kind = 0; kind < device::request_kinds; ++kind) {
    const RequestLane lane(device, static_cast<std::uint8_t>(kind), std::nullopt);
    EXPECT_EQ(lane.route().depth, 10 + kind);
  }
}

TEST(RequestLane, TellsItsDeviceWhatIsInUse) {
  Device device(0, 0, 0);
  RequestLane lane(device, device::direct_write_large, of_depth(2));
  std::array<Request, 3> requests;
  for (Request& request : requests) {
    request.kind = Kind::write;
    request.transferred = 1000;
    lane.enter(request);
  }
  EXPECT_EQ(device.requests_under_way(), 2U) << "one waits";
  for (Request& request : requests) {
    lane.leave(request);
  }
  EXPECT_EQ(device.requests_under_way(), 0U);
  EXPECT_EQ(device.bytes(device::Direction::write), 3000U);
  EXPECT_EQ(device.bytes(device::Direction::read), 0U);
}

// Tasks that are admitted by their number are the level of the device: their requests are let through, and nothing is tried with them.
TEST(RequestLane, WhereTasksAreAdmittedByTheNumberItLetsAsManyThroughAndLooksForNothing) {
  Device device(0, 0, 0);
  RequestLane lane(device, device::direct_write_large, std::nullopt);
  const unsigned depth = lane.route().depth;
  device.set_tasks_at_once(2 * depth);
  std::vector<Request> requests(20000);
  std::vector<Request*> inside;
  for (Request& request : requests) {
    request.kind = Kind::write;
    request.transferred = 1 << 20;
    ASSERT_EQ(lane.enter(request), inside.size() < 2 * depth ? Entry::start : Entry::kept);
    if (inside.size() < 2 * depth) {
      inside.push_back(&request);
    }
    if (inside.size() == 2 * depth) {
      RequestQueue next = lane.leave(*inside.front());
      inside.erase(inside.begin());
      while (Request* started = next.pop()) {
        inside.push_back(started);
      }
    }
    ASSERT_EQ(lane.route(), (Route{false, static_cast<std::uint16_t>(depth)}));
  }
  device.set_tasks_at_once(0);
  EXPECT_EQ(device.tasks_at_once(), 0U);
}

// A thread that cancels looks once through those that wait. A request that comes afterwards has to see by itself that it was given up.
TEST(RequestLane, DoesNotKeepARequestThatWasGivenUpBefore) {
  Runtime runtime(Options{.workers = 1});
  std::atomic<bool> kept{false};
  auto task = runtime.spawn([&] {
    Device device(0, 0, 0);
    RequestLane lane(device, device::buffered_read_small, of_depth(1));
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
