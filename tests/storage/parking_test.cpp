// Sleeping and being woken, driven by threads that stand for workers.
#include "storage/parking.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <random>
#include <thread>

#include "device/ring_setup.hpp"
#include "storage/aio_queue.hpp"
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
  static unsigned take(Ring& from) {
    Completion completions[8];
    return from.take(completions, 8);
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
    taken = take(*own);
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
      take(*own);
    }
    pipe.write();
    while (own->in_flight() > 0) {
      parking.park(0, never);
      take(*own);
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

// Whether a thread that waits for the descriptor is told within a moment; else never, as far as this test goes.
bool is_ready(const Parking& parking, int milliseconds) {
  pollfd wanted{parking.descriptor(), POLLIN, 0};
  return poll(&wanted, 1, milliseconds) == 1;
}

// The queues of both engines that workers sleep in.
template <class Queue>
class BusyWorker : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    own_ = Queue::make(why);
    if (own_ == nullptr) {
      GTEST_SKIP() << why;
    }
    ASSERT_TRUE(parking_.add_queue(0, own_.get()));
    ASSERT_GE(descriptor_, 0);
  }
  void TearDown() override { ::close(descriptor_); }
  // A read of a file, which ends before long.
  void begin() {
    gather();
    own_->flush();
  }
  void gather() { gather(descriptor_); }
  void gather(int descriptor) {
    request_ = Request();
    request_.kind = Kind::read;
    request_.descriptor = descriptor;
    request_.data = buffer_.data();
    request_.remaining = buffer_.size();
    plan_attempt(request_);
    own_->submit(request_);
  }
  void wait_until_it_has_ended() const {
    while (!own_->has_completions()) {
      std::this_thread::yield();
    }
  }
  unsigned take_by_another() {
    Completion completions[8];
    return own_->take(completions, 8);
  }

  Parking parking_{2};
  std::unique_ptr<Queue> own_;
  const test::Folder folder_;
  const int descriptor_ = ::open((folder_ / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  std::array<std::byte, 512> buffer_{};
  Request request_;
};

using Queues = testing::Types<Ring, AioQueue>;
TYPED_TEST_SUITE(BusyWorker, Queues);

TYPED_TEST(BusyWorker, EachOfItsCompletionsMakesTheDescriptorReady) {
  for (int round = 0; round < 100; ++round) {
    this->parking_.busy(0, true);
    EXPECT_TRUE(this->parking_.is_busy(0));
    this->begin();
    ASSERT_TRUE(is_ready(this->parking_, 60'000));
    this->parking_.answer();
    this->wait_until_it_has_ended();
    EXPECT_EQ(this->take_by_another(), 1U);
    this->parking_.busy(0, false);
    EXPECT_FALSE(this->parking_.is_busy(0));
    this->parking_.answer();
  }
}

TYPED_TEST(BusyWorker, WhatEndedBeforeIsForOthersToo) {
  this->begin();
  this->wait_until_it_has_ended();
  this->parking_.busy(0, true);
  EXPECT_TRUE(is_ready(this->parking_, 60'000));
  this->parking_.busy(0, false);
}

TYPED_TEST(BusyWorker, OneThatIsBackTakesItsOwn) {
  this->parking_.busy(0, true);
  this->parking_.busy(0, false);
  this->begin();
  this->wait_until_it_has_ended();
  EXPECT_FALSE(is_ready(this->parking_, 0));
}

// It was not told that the slice would be long.
TYPED_TEST(BusyWorker, OneThatDoesNotPollIsFound) {
  this->parking_.look_after();
  this->begin();
  this->wait_until_it_has_ended();
  EXPECT_TRUE(this->parking_.look_after());
  EXPECT_TRUE(is_ready(this->parking_, 60'000));
  EXPECT_TRUE(this->parking_.is_busy(0));
  this->parking_.polled(0);
  EXPECT_FALSE(this->parking_.is_busy(0));
  EXPECT_FALSE(this->parking_.look_after());
}

// The worker that was told of them began something else, or was about to sleep.
TYPED_TEST(BusyWorker, CompletionsThatNobodyTookAreAnnouncedAgain) {
  this->parking_.busy(0, true);
  this->begin();
  this->wait_until_it_has_ended();
  ASSERT_TRUE(is_ready(this->parking_, 60'000));
  this->parking_.answer();
  ASSERT_FALSE(is_ready(this->parking_, 0));
  this->parking_.look_after();
  this->parking_.look_after();
  EXPECT_TRUE(is_ready(this->parking_, 60'000));
  EXPECT_EQ(this->take_by_another(), 1U);
}

// It kept its requests back, because its slice was going to be short.
TYPED_TEST(BusyWorker, WhatOneThatDoesNotPollHasGatheredIsHandedOver) {
  this->parking_.look_after();
  this->gather();
  EXPECT_TRUE(this->parking_.look_after());
  EXPECT_TRUE(is_ready(this->parking_, 60'000));
  this->wait_until_it_has_ended();
  EXPECT_EQ(this->take_by_another(), 1U);
}

// The system may refuse it at once, and then announces nothing by itself.
TYPED_TEST(BusyWorker, WhatIsHandedOverForItAndRefusedIsAnnounced) {
  this->parking_.busy(0, true);
  this->gather(-1);
  this->own_->hand_over();
  EXPECT_TRUE(is_ready(this->parking_, 10'000));
  EXPECT_EQ(this->take_by_another(), 1U);
  EXPECT_EQ(this->own_->in_flight(), 0U);
}

TYPED_TEST(BusyWorker, WhatIsGatheredBehindARefusedRequestIsRead) {
  constexpr std::size_t count = 5;
  constexpr std::size_t refused = 1;
  constexpr std::size_t bytes = 512;
  const auto content = test::random_bytes(count * bytes, test::seed());
  ASSERT_EQ(::pwrite(this->descriptor_, content.data(), content.size(), 0), static_cast<ssize_t>(content.size()));
  std::vector<std::byte> received(content.size());
  std::array<Request, count> requests;
  for (std::size_t i = 0; i < count; ++i) {
    requests[i].kind = Kind::read;
    requests[i].descriptor = i == refused ? -1 : this->descriptor_;
    requests[i].data = received.data() + i * bytes;
    requests[i].remaining = bytes;
    requests[i].offset = i * bytes;
    plan_attempt(requests[i]);
    this->own_->submit(requests[i]);
  }
  this->own_->flush();
  std::map<const Request*, int> results;
  while (results.size() < count) {
    std::array<Completion, count> completions;
    const unsigned taken = this->own_->take(completions.data(), count);
    for (unsigned i = 0; i < taken; ++i) {
      ASSERT_TRUE(results.emplace(completions[i].request, completions[i].result).second) << "it has ended twice";
    }
  }
  EXPECT_EQ(this->own_->in_flight(), 0U);
  for (std::size_t i = 0; i < count; ++i) {
    if (i == refused) {
      EXPECT_LT(results[&requests[i]], 0);
    } else {
      EXPECT_EQ(results[&requests[i]], static_cast<int>(bytes));
      EXPECT_TRUE(
          std::equal(content.begin() + i * bytes, content.begin() + (i + 1) * bytes, received.begin() + i * bytes));
    }
  }
}

TYPED_TEST(BusyWorker, OneThatSleepsHandsOverByItself) {
  this->gather();
  this->own_->owner_sleeps(true);
  this->own_->hand_over();
  EXPECT_EQ(this->own_->gathered(), 1U);
  this->own_->owner_sleeps(false);
  this->own_->hand_over();
  EXPECT_EQ(this->own_->gathered(), 0U);
  this->wait_until_it_has_ended();
}

// The thread that keeps time finds the worker silent while that comes back and begins a long slice.
TYPED_TEST(BusyWorker, IsAnnouncedWhoeverSaidThatItIsBusy) {
  std::mt19937 random(static_cast<std::uint32_t>(test::seed()));
  std::atomic<bool> stop{false};
  std::atomic<unsigned> looks{0};
  std::jthread keeps_time([&] {
    while (!stop) {
      this->parking_.look_after();
      ++looks;
    }
  });
  bool told = true;
  const auto rounds = static_cast<int>(test::scaled(20'000, 500));
  // Where others keep the processors busy, each of its yields takes some milliseconds: fewer rounds do then.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  for (int round = 0; round < rounds && told && std::chrono::steady_clock::now() < end; ++round) {
    this->begin();
    for (auto pause = random() % 500; pause > 0; --pause) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    this->parking_.polled(0);
    this->parking_.busy(0, true);
    this->wait_until_it_has_ended();
    // What was said before the slice began has been said to its end.
    for (const unsigned now = looks; looks - now < 2;) {
      std::this_thread::yield();
    }
    this->take_by_another();
    this->parking_.answer();
    this->begin();
    told = is_ready(this->parking_, 10'000);
    EXPECT_TRUE(told) << "in round " << round;
    this->wait_until_it_has_ended();
    this->take_by_another();
    this->parking_.busy(0, false);
  }
  stop = true;
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
  EXPECT_EQ(take(*own), 0U);
  EXPECT_TRUE(own->has_completions());
  own->owner_sleeps(false);
  EXPECT_EQ(take(*own), 1U);
}

TEST_F(RingParking, MoreRequestsThanTheRingHoldsAreKept) {
  const auto own = ring();
  const std::size_t count = 3 * device::ring_completion_entries + 17;
  std::vector<Request> requests(count);
  for (Request& request : requests) {
    plan_attempt(request);
    own->submit(request);
  }
  std::size_t taken = 0;
  while (taken < count) {
    own->refill();
    own->flush();
    taken += take(*own);
  }
  EXPECT_EQ(taken, count);
  EXPECT_EQ(own->in_flight(), 0U);
}

}  // namespace
}  // namespace dovetail::storage
