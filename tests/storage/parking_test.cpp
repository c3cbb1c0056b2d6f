// Sleeping and being woken, driven by threads that stand for workers.
#include "storage/parking.hpp"

#include <sys/resource.h>

#include <memory>
#include <random>
#include <thread>

#include "base/spin_lock.hpp"
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

// So that others are at a certain place, more or less: what is tested must hold wherever they are.
void pause(std::uint64_t turns) {
  for (; turns > 0; --turns) {
    base::cpu_relax();
  }
}

// What is read from it is there once it was written.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe(ends_), 0); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close(ends_[0]);
    close(ends_[1]);
  }
  void read_by(Request& request) {
    request.kind = Kind::read;
    request.descriptor = ends_[0];
    request.data = &byte_;
    request.remaining = 1;
    plan_attempt(request);
  }
  void write() { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  std::byte received() const { return byte_; }

 private:
  int ends_[2]{};
  std::byte byte_{};
};

// Counts as a ring does, without a system call, which would take longer than what is to be met in its middle.
class Counted : public WorkerQueue {
 public:
  void sleep(int, int, steady_clock::time_point) noexcept override {}
  void start() noexcept { count_submitted(1); }
  void end() noexcept { count_taken(1); }
};

// The other worker is at any place of its way to sleep when there is something to look after for the first time.
TEST(Parking, AWorkerThatIsJustFallingAsleepLooksAfterABusyOne) {
  Counted own;
  Parking parking(2);
  ASSERT_TRUE(parking.add_queue(0, &own));
  std::mt19937 random(static_cast<std::uint32_t>(test::seed()));
  const auto rounds = static_cast<unsigned>(test::scaled(5000, 2000));
  std::atomic<unsigned> parks{0};
  std::atomic<unsigned> found{0};
  std::atomic<unsigned> round{0};
  std::thread idle([&] {
    while (round.load() < rounds) {
      parks.fetch_add(1);
      pause(8);  // until the other thread sees it
      parking.park(1, never);
      if (parking.looks_after(1, 0)) {
        found.store(round.load());
      }
    }
  });
  while (++round < rounds) {
    const unsigned seen = parks.load();
    parking.unpark(1);
    while (parks.load() == seen) {
    }
    pause(random() % 6);
    own.start();
    parking.started_operations(0);
    parking.busy(0, true);
    while (found.load() < round.load()) {
      std::this_thread::yield();
    }
    parking.busy(0, false);
    own.end();
  }
  parking.unpark(1);
  idle.join();
  EXPECT_GE(found.load(), rounds - 1);
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
  Pipe pipe;
  const auto rounds = static_cast<int>(test::scaled(2000, 200));
  std::atomic<int> parked{0};
  std::atomic<bool> stop{false};
  Parking parking(2);
  std::thread worker([&] {
    const auto own = ring();
    EXPECT_TRUE(parking.add_queue(0, own.get()));
    Request request;
    pipe.read_by(request);
    own->submit(request);
    while (!stop.load()) {
      parked.fetch_add(1);
      parking.park(0, never);
      take(*own, true);
    }
    pipe.write();
    while (own->in_flight() > 0) {
      parking.park(0, never);
      take(*own, true);
    }
    EXPECT_EQ(pipe.received(), std::byte{'x'});
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

// A worker has been the watcher while another one, which waits for something else, went to sleep. Then it computes itself, expectedly
// or not, and what it has under way is for the other one.
TEST_F(RingParking, AWatcherThatComputesIsLookedAfter) {
  for (int round = 0; round < 40; ++round) {
    Pipe never_read, soon, later;
    const auto own = ring();
    std::unique_ptr<Ring> others;  // made by the thread that uses it
    Parking parking(2);
    ASSERT_TRUE(parking.add_queue(0, own.get()));
    Request forever, first, second;
    never_read.read_by(forever);
    soon.read_by(first);
    later.read_by(second);
    own->submit(first);
    own->submit(second);
    own->flush();
    std::atomic<bool> waits{false}, watches{false}, parks{false}, delivered{false};
    std::thread other([&] {
      others = ring();
      EXPECT_TRUE(parking.add_queue(1, others.get()));
      others->submit(forever);
      others->flush();
      waits.store(true);
      while (!watches.load()) {
      }
      pause(300);
      while (!delivered.load()) {
        parks.store(true);
        parking.park(1, never);
        if (parking.looks_after(1, 0) && take(*own, false) > 0) {
          delivered.store(true);
        }
      }
      never_read.write();
      while (take(*others, true) == 0) {
        parking.park(1, never);
      }
    });
    std::thread outside([&] {
      while (!parks.load()) {
      }
      pause(3000);
      soon.write();
    });
    while (!waits.load()) {
    }
    while (take(*own, true) == 0) {
      watches.store(true);
      parking.park(0, never);
    }
    if (round % 2 == 0) {
      parking.busy(0, true);
    }
    later.write();
    while (!delivered.load()) {
      std::this_thread::yield();
    }
    parking.busy(0, false);
    other.join();
    outside.join();
  }
}

// The watcher finds work while a third worker sleeps, and passes the watch on to it.
TEST_F(RingParking, AWatcherThatFindsWorkPassesTheWatchOn) {
  const auto soon = [] { return steady_clock::now() + std::chrono::milliseconds(1); };
  for (int round = 0; round < 40; ++round) {
    Pipe later;
    const auto own = ring();
    Parking parking(3);
    ASSERT_TRUE(parking.add_queue(0, own.get()));
    Request read;
    later.read_by(read);
    own->submit(read);
    own->flush();
    parking.busy(0, true);
    std::atomic<bool> parks{false};
    std::atomic<bool> delivered{false};
    std::thread third([&] {
      while (!delivered.load()) {
        parks.store(true);
        parking.park(2, never);
        if (parking.looks_after(2, 0) && take(*own, false) > 0) {
          delivered.store(true);
        }
      }
    });
    while (!parks.load()) {
      parking.park(1, soon());
    }
    parking.park(1, soon());  // if the third one is the watcher, it stays so
    parking.busy(1, true);
    later.write();
    while (!delivered.load()) {
      std::this_thread::yield();
    }
    third.join();
    parking.busy(1, false);
    parking.busy(0, false);
  }
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
