// Sleeping and being woken, driven by threads that stand for workers.
#include "storage/parking.hpp"

#include <sys/resource.h>

#include <thread>

#include "storage/ring.hpp"
#include "support.hpp"

namespace dovetail::storage {
namespace {

using std::chrono::steady_clock;
constexpr auto never = steady_clock::time_point::max();

// Each unpark ends one park: two threads hand a turn to and fro. A lost wake-up would hang.
TEST(Parking, WakeUpsAreNotLost) {
  Parking parking(2);
  std::atomic<unsigned> turn{0};
  const auto rounds = static_cast<unsigned>(test::scaled(20000, 2000));
  const auto play = [&](unsigned self) {
    for (unsigned round = 0; round < rounds; ++round) {
      while (turn.load() % 2 != self) {
        parking.park(self, never);
      }
      turn.fetch_add(1);
      parking.unpark(1 - self);
    }
  };
  std::thread other([&] { play(1); });
  play(0);
  other.join();
  EXPECT_EQ(turn.load(), 2 * rounds);
}

TEST(Parking, AnUnparkThatComesFirstIsKept) {
  Parking parking(1);
  parking.unpark(0);
  parking.park(0, never);
}

TEST(Parking, ADeadlineEndsTheSleep) {
  Parking parking(1);
  const auto deadline = steady_clock::now() + std::chrono::milliseconds(5);
  while (steady_clock::now() < deadline) {
    parking.park(0, deadline);
  }
}

class RingParking : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (Ring::make(why) == nullptr) {
      GTEST_SKIP() << why;
    }
  }
  static std::unique_ptr<Ring> ring() {
    std::string why;
    return Ring::make(why);
  }
  // Takes everything that is there.
  static unsigned take(Ring& from, bool owner) {
    Completion completions[8];
    return from.take(completions, 8, owner);
  }
};

TEST_F(RingParking, ACompletionEndsTheSleep) {
  const auto own = ring();
  Parking parking(1);
  ASSERT_TRUE(parking.add_queue(0, own.get()));
  Request request;
  plan_attempt(request);
  own->submit(request);
  unsigned taken = 0;
  while (taken == 0) {
    parking.park(0, never);  // hands over what was gathered, too
    taken = take(*own, true);
  }
  EXPECT_EQ(own->in_flight(), 0U);
}

// The worker sleeps for a read of an empty pipe; only the unpark can end it.
TEST_F(RingParking, AnUnparkEndsASleepInTheRing) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto rounds = static_cast<int>(test::scaled(2000, 200));
  std::atomic<int> parked{0};
  std::atomic<bool> stop{false};
  Parking parking(2);
  std::thread worker([&] {
    const auto own = ring();
    EXPECT_TRUE(parking.add_queue(0, own.get()));
    std::byte byte{};
    Request request;
    request.kind = Kind::read;
    request.descriptor = ends[0];
    request.data = &byte;
    request.remaining = 1;
    plan_attempt(request);
    own->submit(request);
    while (!stop.load()) {
      parked.fetch_add(1);
      parking.park(0, never);
      take(*own, true);
    }
    EXPECT_EQ(::write(ends[1], "x", 1), 1);
    while (own->in_flight() > 0) {
      parking.park(0, never);
      take(*own, true);
    }
    EXPECT_EQ(byte, std::byte{'x'});
  });
  for (int round = 0; round < rounds; ++round) {
    const int seen = parked.load();
    parking.unpark(0);
    while (parked.load() == seen) {
      std::this_thread::yield();
    }
  }
  stop.store(true);
  parking.unpark(0);
  worker.join();
  close(ends[0]);
  close(ends[1]);
}

// While a slice goes on, what its worker has started is shown to the one that is parked.
TEST_F(RingParking, AParkedWorkerLooksAfterABusyOne) {
  const auto own = ring();
  Parking parking(2);
  ASSERT_TRUE(parking.add_queue(0, own.get()));
  Request request;
  plan_attempt(request);
  own->submit(request);
  own->flush();
  parking.busy(0, true);
  std::thread idle([&] {
    unsigned taken = 0;
    while (taken == 0) {
      parking.park(1, never);
      if (parking.looks_after(1, 0)) {
        taken = take(*own, false);
      }
    }
    EXPECT_EQ(taken, 1U);
  });
  idle.join();
  parking.busy(0, false);
  EXPECT_EQ(own->in_flight(), 0U);
  EXPECT_FALSE(parking.looks_after(0, 1));
}

// No descriptor is left to make a bell of: the one that is parked must not sleep for ever while the other computes.
TEST_F(RingParking, AParkedWorkerWithoutADescriptorLooksAfterABusyOne) {
  const auto own = ring();
  Parking parking(2);
  ASSERT_TRUE(parking.add_queue(0, own.get()));
  Request request;
  plan_attempt(request);
  own->submit(request);
  own->flush();
  parking.busy(0, true);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  alarm(60);
  unsigned taken = 0;
  while (taken == 0) {
    parking.park(1, never);
    if (parking.looks_after(1, 0)) {
      taken = take(*own, false);
    }
  }
  alarm(0);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  parking.busy(0, false);
  EXPECT_EQ(taken, 1U);
}

// Its owner would wait for a completion that is not there any more.
TEST_F(RingParking, NobodyTakesTheCompletionsOfASleeper) {
  const auto own = ring();
  Request request;
  plan_attempt(request);
  own->submit(request);
  own->flush();
  while (!own->has_completions()) {
    std::this_thread::yield();
  }
  own->owner_sleeps(true);
  EXPECT_EQ(take(*own, false), 0U);
  EXPECT_TRUE(own->has_completions());
  own->owner_sleeps(false);
  EXPECT_EQ(take(*own, false), 1U);
}

TEST_F(RingParking, MoreRequestsThanTheRingHoldsAreKept) {
  const auto own = ring();
  const std::size_t count = 3 * Ring::completion_entries + 17;
  std::vector<Request> requests(count);
  for (Request& request : requests) {
    plan_attempt(request);
    own->submit(request);
  }
  std::size_t taken = 0;
  while (taken < count) {
    own->refill();
    own->flush();
    taken += take(*own, true);
  }
  EXPECT_EQ(taken, count);
  EXPECT_EQ(own->in_flight(), 0U);
}

}  // namespace
}  // namespace dovetail::storage
