// Two fabrics of one process, which send to each other: with what the provider offers, and with less, as other providers do.
#include "comm/rma/fabric.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "base/descriptor.hpp"
#include "dovetail/rma_error.hpp"
#include "libfabric_is_there.hpp"
#include "tasking/support.hpp"

namespace dovetail::comm::rma::test {
namespace {

using dovetail::test::Random;
using dovetail::test::scaled;

// What one side has been told, and the memory that the other side reaches.
class Side final : public FabricArrivals {
 public:
  Side(std::unique_ptr<FabricEndpoint> endpoint, int rank)
      : numbers(4096), fabric(std::move(endpoint), *this, rank, 2) {}

  void notified(int rank, Notification notification) noexcept override {
    const std::lock_guard lock(mutex);
    // What was written before is there: the sender writes its value first.
    const auto& place = reinterpret_cast<std::uint64_t&>(numbers[notification.id]);
    seen.push_back({rank, notification, place});
  }
  void taken(int /*rank*/, std::uint64_t count) noexcept override { taken_there = count; }
  std::uint64_t* number_at(std::uint8_t segment, std::uint64_t offset) noexcept override {
    return segment == 0 && offset < numbers.size() * sizeof numbers[0] ? &numbers[offset / sizeof numbers[0]] : nullptr;
  }
  void said_goodbye(int /*rank*/) noexcept override { has_left = true; }
  void lost(int /*rank*/, const std::string& why) noexcept override {
    const std::lock_guard lock(mutex);
    why_lost = why;
  }

  struct Seen {
    int rank;
    Notification notification;
    std::uint64_t value;
  };
  std::size_t seen_so_far() {
    const std::lock_guard lock(mutex);
    return seen.size();
  }

  std::vector<std::uint64_t> numbers;
  std::mutex mutex;
  std::vector<Seen> seen;
  std::string why_lost;
  std::atomic<std::uint64_t> taken_there{0};
  std::atomic<bool> has_left{false};
  Fabric fabric;
  std::unique_ptr<Registration> registration;
};

struct Mode {
  const char* name;
  bool may_order;
  bool may_skip_registration;
  bool may_carry_data;
  bool may_sleep;
};

class FabricTest : public testing::TestWithParam<Mode> {
 protected:
  void SetUp() override {
    FabricOptions options;
    options.provider = "tcp;ofi_rxm";
    options.local_address = "127.0.0.1";
    options.may_order = GetParam().may_order;
    options.may_skip_registration = GetParam().may_skip_registration;
    options.may_carry_data = GetParam().may_carry_data;
    options.may_sleep = GetParam().may_sleep;
    try {
      for (int rank = 0; rank < 2; ++rank) {
        sides_[static_cast<std::size_t>(rank)] = std::make_unique<Side>(FabricEndpoint::open(options), rank);
      }
    } catch (const std::runtime_error& error) {
      if (is_without_libfabric(error)) {
        GTEST_SKIP() << error.what();
      }
      throw;
    }
    for (int rank = 0; rank < 2; ++rank) {
      Side& side = *sides_[static_cast<std::size_t>(rank)];
      side.fabric.add_peer(1 - rank, sides_[static_cast<std::size_t>(1 - rank)]->fabric.address());
      side.registration = side.fabric.register_memory(std::as_writable_bytes(std::span(side.numbers)));
      threads_.emplace_back([this, &side] {
        while (!ends_) {
          if (side.fabric.sleep()) {
            base::Fifo<Waiter> ended;
            side.fabric.drain(ended);
            tell(ended);
          }
        }
      });
    }
  }
  void TearDown() override {
    ends_ = true;
    for (const auto& side : sides_) {
      if (side != nullptr) {
        side->fabric.wake();
      }
    }
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  static void tell(base::Fifo<Waiter>& ended) {
    while (Waiter* const each = ended.pop()) {
      each->has_ended.store(true, std::memory_order_release);
    }
  }
  Side& side(int rank) { return *sides_[static_cast<std::size_t>(rank)]; }
  RemoteMemory place(int rank, std::size_t index) {
    RemoteMemory memory = side(rank).registration->memory();
    memory.address += index * sizeof(std::uint64_t);
    return memory;
  }
  // Waits as a thread outside of tasks does, by progress of its own or by that of the fabric's thread.
  template <class Post>
  void call(int from, bool makes_progress, RemoteCall& made, const Post& post) {
    Fabric::begin(made);
    post();
    if (side(from).fabric.is_ended_by_caller(made)) {
      return;
    }
    while (!made.has_ended.load(std::memory_order_acquire)) {
      if (makes_progress) {
        base::Fifo<Waiter> ended;
        side(from).fabric.progress(ended);
        tell(ended);
      }
      std::this_thread::yield();
    }
  }
  void until_seen(int rank, std::size_t count) {
    while (side(rank).seen_so_far() < count) {
      std::this_thread::yield();
    }
  }

  std::array<std::unique_ptr<Side>, 2> sides_;
  std::vector<std::thread> threads_;
  std::atomic<bool> ends_{false};
};

TEST_P(FabricTest, WhatWasWrittenIsThereWhenItsNotificationComes) {
  Random random(1);
  const auto count = static_cast<std::uint32_t>(scaled(500, 100));
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t id = i % 4000;
    const std::uint64_t value = i + 1;
    const auto data = std::as_bytes(std::span(&value, 1));
    // The value of some fits what a write can carry.
    const Notification notification{.segment = 1, .id = id, .value = random.once_in(3) ? (i + 1) | 1U << 20 : i + 1};
    if (random.once_in(2)) {
      side(0).fabric.write(1, place(1, id), data, &notification, nullptr);
    } else {
      side(0).fabric.write(1, place(1, id), data, nullptr, nullptr);
      side(0).fabric.notify(1, notification);
    }
  }
  until_seen(1, count);
  const std::lock_guard lock(side(1).mutex);
  for (std::uint32_t i = 0; i < count; ++i) {
    EXPECT_EQ(side(1).seen[i].rank, 0);
    EXPECT_EQ(side(1).seen[i].value, i + 1);
    EXPECT_EQ(side(1).seen[i].notification.id, i % 4000);
    EXPECT_EQ(side(1).seen[i].notification.value & 0xfffff, i + 1);
  }
}

TEST_P(FabricTest, LargeDataGoesAndComesBack) {
  std::vector<std::uint64_t> sent(4096);
  std::vector<std::uint64_t> back(4096);
  for (const bool makes_progress : {true, false}) {
    std::iota(sent.begin(), sent.end(), makes_progress ? 7 : 70'000);
    RemoteCall writes;
    writes.what = "write";
    call(0, makes_progress, writes,
         [&] { side(0).fabric.write(1, place(1, 0), std::as_bytes(std::span(sent)), nullptr, &writes); });
    RemoteCall reads;
    reads.what = "read";
    const auto bytes = std::as_writable_bytes(std::span(back));
    call(0, makes_progress, reads, [&] {
      side(0).fabric.read(1, place(1, 0), bytes.first(bytes.size() / 2), reads);
      side(0).fabric.read(1, place(1, 2048), bytes.subspan(bytes.size() / 2), reads);
    });
    EXPECT_FALSE(writes.cause || reads.cause);
    EXPECT_EQ(back, sent);
  }
}

// Both sides and the owner change one number at the same time.
TEST_P(FabricTest, NoAdditionIsLost) {
  const std::size_t each = scaled(100, 20);
  const auto add = [&](int from, int to) {
    for (std::size_t i = 0; i < each; ++i) {
      RemoteCall made;
      std::uint64_t before = 0;
      call(from, i % 2 == 0, made, [&] {
        side(from).fabric.change(to, {.kind = Message::Kind::fetch_add, .first = 8, .second = 1}, before, made);
      });
    }
  };
  std::thread first([&] { add(0, 1); });
  std::thread second([&] { add(0, 1); });
  for (std::size_t i = 0; i < each; ++i) {
    std::atomic_ref(side(1).numbers[1]).fetch_add(1);
  }
  first.join();
  second.join();
  RemoteCall swaps;
  std::uint64_t before = 0;
  call(0, true, swaps, [&] {
    side(0).fabric.change(1, {.kind = Message::Kind::compare_swap, .first = 8, .second = 3 * each, .third = 5}, before,
                          swaps);
  });
  EXPECT_EQ(before, 3 * each);
  EXPECT_EQ(std::atomic_ref(side(1).numbers[1]).load(), 5U);
}

TEST_P(FabricTest, WhatWaitsFailsWithTheRank) {
  // Nothing of rank 1 moves any more.
  ends_ = true;
  for (int rank = 0; rank < 2; ++rank) {
    side(rank).fabric.wake();
    threads_[static_cast<std::size_t>(rank)].join();
  }
  threads_.clear();
  std::uint64_t number = 0;
  RemoteCall reads;
  reads.what = "read";
  reads.rank = 1;
  std::uint64_t before = 0;
  RemoteCall adds;
  adds.what = "atomic operation";
  adds.rank = 1;
  Fabric& from = side(0).fabric;
  Fabric::begin(reads);
  from.read(1, place(1, 0), std::as_writable_bytes(std::span(&number, 1)), reads);
  EXPECT_FALSE(from.is_ended_by_caller(reads));
  Fabric::begin(adds);
  from.change(1, {.kind = Message::Kind::fetch_add, .second = 1}, before, adds);
  EXPECT_FALSE(from.is_ended_by_caller(adds));
  base::Fifo<Waiter> ended;
  from.rank_ended(1, [] { return std::string("rank 1 has died"); }, ended);
  EXPECT_EQ(ended.size(), 2U);
  RemoteCall later;
  later.what = "read";
  later.rank = 1;
  Fabric::begin(later);
  from.read(1, place(1, 0), std::as_writable_bytes(std::span(&number, 1)), later);
  EXPECT_TRUE(from.is_ended_by_caller(later));
  for (RemoteCall* const each : {&reads, &adds, &later}) {
    try {
      ASSERT_TRUE(each->cause);
      std::rethrow_exception(each->cause);
    } catch (const dovetail::rma::Error& error) {
      EXPECT_NE(std::string(error.what()).find("failed: rank 1 has died"), std::string::npos) << error.what();
      EXPECT_EQ(error.rank(), 1);
    }
  }
  EXPECT_TRUE(from.has_parted(1));
}

TEST_P(FabricTest, AGoodbyeIsAnsweredBehindWhatWasSentBefore) {
  const std::uint32_t count = 200;
  for (std::uint32_t id = 0; id < count; ++id) {
    side(0).fabric.notify(1, {.id = id, .value = 1});
  }
  EXPECT_FALSE(side(0).fabric.has_parted(1));
  side(0).fabric.say_goodbye(1);
  while (!side(0).fabric.has_parted(1)) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(side(1).has_left);
  EXPECT_EQ(side(1).seen_so_far(), count);
  side(1).fabric.say_taken(0, 17);
  while (side(0).taken_there != 17) {
    std::this_thread::yield();
  }
}

INSTANTIATE_TEST_SUITE_P(Providers, FabricTest,
                         testing::Values(Mode{"as_it_is", true, true, true, true},
                                         Mode{"with_less", false, false, false, false},
                                         Mode{"without_data", true, true, false, true}),
                         [](const auto& mode) { return std::string(mode.param.name); });

// A provider that promises nothing: what was posted is done in any order, has no room now and then, and fails when told to.
class Shuffling final : public FabricEndpoint {
 public:
  struct Wire {
    std::deque<Message> messages;
    std::deque<std::uint64_t> data;
  };
  class Address final : public Registration {
   public:
    explicit Address(const std::byte* first) : first_(reinterpret_cast<std::uintptr_t>(first)) {}
    RemoteMemory memory() const noexcept override { return {.address = first_, .key = 1}; }
    void* descriptor() const noexcept override { return nullptr; }

   private:
    std::uint64_t first_;
  };

  Shuffling(Wire& out, Wire& in, Random& random, bool carries_data)
      : out_(out), in_(in), random_(random), carries_data_(carries_data) {}
  const std::string& provider() const noexcept override { return name_; }
  std::vector<std::byte> address() const override { return {}; }
  void add_peer(int /*rank*/, std::span<const std::byte> /*address*/) override {}
  std::unique_ptr<Registration> register_memory(std::span<std::byte> memory) override {
    return std::make_unique<Address>(memory.data());
  }
  bool is_ordered() const noexcept override { return false; }
  bool carries_data() const noexcept override { return carries_data_; }
  Posted post(Operation& operation) override {
    if (random_.once_in(4)) {
      return Posted::later;
    }
    posted_.push_back(&operation);
    return Posted::yes;
  }
  const std::string& failure() const noexcept override { return name_; }
  unsigned poll(FabricEvents& events) noexcept override {
    for (; !in_.data.empty(); in_.data.pop_front()) {
      events.data_arrived(in_.data.front());
    }
    for (; !in_.messages.empty(); in_.messages.pop_front()) {
      events.message_arrived(in_.messages.front());
    }
    if (posted_.empty()) {
      return 0;
    }
    const std::size_t at = random_.between(0, posted_.size() - 1);
    Operation& next = *posted_[at];
    posted_.erase(posted_.begin() + static_cast<std::ptrdiff_t>(at));
    if (fails) {
      events.operation_ended(next, "it fails");
      return 1;
    }
    auto* const there = reinterpret_cast<std::byte*>(next.remote.address);  // NOLINT(performance-no-int-to-ptr)
    if (next.kind == Operation::Kind::message) {
      out_.messages.push_back(next.message);
    } else if (next.kind == Operation::Kind::read) {
      std::memcpy(next.local, there, next.bytes);
    } else {
      std::memcpy(there, next.local, next.bytes);
      if (next.kind == Operation::Kind::write_with_data) {
        out_.data.push_back(next.data);
      }
    }
    events.operation_ended(next, "");
    return 1;
  }
  int descriptor() const noexcept override { return -1; }
  bool may_sleep() noexcept override { return true; }

  bool fails = false;

 private:
  Wire& out_;
  Wire& in_;
  Random& random_;
  bool carries_data_;
  std::vector<Operation*> posted_;
  const std::string name_ = "shuffling";
};

class UnorderedFabricTest : public testing::TestWithParam<bool> {
 protected:
  UnorderedFabricTest() : random_(2) {
    auto first = std::make_unique<Shuffling>(there_, back_, random_, GetParam());
    first_ = first.get();
    sides_[0] = std::make_unique<Side>(std::move(first), 0);
    sides_[1] = std::make_unique<Side>(std::make_unique<Shuffling>(back_, there_, random_, GetParam()), 1);
    for (const auto& side : sides_) {
      side->registration = side->fabric.register_memory(std::as_writable_bytes(std::span(side->numbers)));
    }
  }
  RemoteMemory place(std::size_t index) const {
    RemoteMemory memory = sides_[1]->registration->memory();
    memory.address += index * sizeof(std::uint64_t);
    return memory;
  }
  std::size_t drain() {
    base::Fifo<Waiter> ended;
    for (const auto& side : sides_) {
      side->fabric.drain(ended);
    }
    const std::size_t count = ended.size();
    while (ended.pop() != nullptr) {
    }
    return count;
  }
  Random random_;
  Shuffling::Wire there_;
  Shuffling::Wire back_;
  Shuffling* first_ = nullptr;
  std::array<std::unique_ptr<Side>, 2> sides_;
};

TEST_P(UnorderedFabricTest, NoNotificationOvertakesAWriteOrAnotherOne) {
  const auto count = static_cast<std::uint32_t>(scaled(4000, 500));
  Fabric& from = sides_[0]->fabric;
  for (std::uint32_t id = 0; id < count; ++id) {
    const std::uint64_t value = id + 1;
    const auto data = std::as_bytes(std::span(&value, 1));
    const Notification notification{.segment = 1, .id = id, .value = random_.once_in(3) ? 1U << 20 : 1};
    if (random_.once_in(2)) {
      from.write(1, place(id), data, &notification, nullptr);
    } else {
      from.write(1, place(id), data, nullptr, nullptr);
      from.notify(1, notification);
    }
    if (random_.once_in(5)) {
      drain();
    }
  }
  from.say_goodbye(1);
  while (!from.has_parted(1)) {
    drain();
  }
  ASSERT_EQ(sides_[1]->seen.size(), count);
  for (std::uint32_t id = 0; id < count; ++id) {
    EXPECT_EQ(sides_[1]->seen[id].notification.id, id);
    EXPECT_EQ(sides_[1]->seen[id].value, id + 1) << "what was written before is not there";
  }
}

// Each call ends once, with its rank: those under way, those that the provider has failed, and those that had no room.
TEST_P(UnorderedFabricTest, CallsOfALostRankFailOnce) {
  Fabric& from = sides_[0]->fabric;
  std::vector<std::uint64_t> numbers(100, 7);
  std::deque<RemoteCall> calls(100);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto bytes = std::as_writable_bytes(std::span(&numbers[i], 1));
    calls[i].what = "call";
    Fabric::begin(calls[i]);
    i % 2 == 0 ? from.read(1, place(i), bytes, calls[i]) : from.write(1, place(i), bytes, nullptr, &calls[i]);
    EXPECT_FALSE(from.is_ended_by_caller(calls[i]));
  }
  first_->fails = true;
  while (sides_[0]->why_lost.empty()) {  // the provider may have had no room so far
    EXPECT_EQ(drain(), 0U) << "a call is told with the end of its rank";
  }
  EXPECT_NE(sides_[0]->why_lost.find("it fails"), std::string::npos);
  base::Fifo<Waiter> ended;
  from.rank_ended(1, [] { return std::string("rank 1 has died"); }, ended);
  EXPECT_EQ(ended.size(), calls.size());
  EXPECT_EQ(drain(), 0U);
  for (const RemoteCall& call : calls) {
    EXPECT_TRUE(call.cause);
    EXPECT_EQ(call.left, 0U);
  }
}

// The provider has them still when their calls have failed, and succeeds in the end.
TEST_P(UnorderedFabricTest, WhatComesBackLateTouchesNoMemoryOfItsCall) {
  Fabric& from = sides_[0]->fabric;
  constexpr std::uint64_t untouched = 7;
  std::vector<std::uint64_t> numbers(100, untouched);
  std::deque<RemoteCall> calls(numbers.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i].what = "read";
    Fabric::begin(calls[i]);
    from.read(1, place(i), std::as_writable_bytes(std::span(&numbers[i], 1)), calls[i]);
    EXPECT_FALSE(from.is_ended_by_caller(calls[i]));
  }
  base::Fifo<Waiter> ended;
  from.rank_ended(1, [] { return std::string("rank 1 has died"); }, ended);
  EXPECT_EQ(ended.size(), calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(drain(), 0U);
  }
  EXPECT_EQ(numbers, std::vector<std::uint64_t>(numbers.size(), untouched));
  for (const RemoteCall& call : calls) {
    EXPECT_EQ(call.left, 0U);
  }
}

// A provider whose descriptor says nothing of what was posted while a thread sleeps on it, as libfabric allows.
class Silent final : public FabricEndpoint {
 public:
  explicit Silent(std::atomic<bool>& is_asked) : is_asked_(is_asked), never_(eventfd(0, EFD_CLOEXEC)) {}
  const std::string& provider() const noexcept override { return name_; }
  std::vector<std::byte> address() const override { return {}; }
  void add_peer(int /*rank*/, std::span<const std::byte> /*address*/) override {}
  std::unique_ptr<Registration> register_memory(std::span<std::byte> /*memory*/) override { return nullptr; }
  bool is_ordered() const noexcept override { return true; }
  bool carries_data() const noexcept override { return true; }
  Posted post(Operation& operation) override {
    posted_ = &operation;
    return Posted::yes;
  }
  const std::string& failure() const noexcept override { return name_; }
  unsigned poll(FabricEvents& events) noexcept override {
    if (posted_ == nullptr) {
      return 0;
    }
    events.operation_ended(*std::exchange(posted_, nullptr), "");
    return 1;
  }
  int descriptor() const noexcept override { return never_.get(); }
  bool may_sleep() noexcept override {
    is_asked_ = true;
    return true;
  }

 private:
  std::atomic<bool>& is_asked_;
  base::Descriptor never_;
  Operation* posted_ = nullptr;
  const std::string name_ = "silent";
};

TEST(Fabric, ItsThreadSeesToWhatIsPostedWhileItSleeps) {
  std::atomic<bool> is_asked{false};
  Side side(std::make_unique<Silent>(is_asked), 0);
  RemoteCall call;
  std::thread thread([&] {
    while (!call.has_ended) {
      if (side.fabric.sleep()) {
        base::Fifo<Waiter> ended;
        side.fabric.drain(ended);
        while (Waiter* const each = ended.pop()) {
          each->has_ended = true;
        }
      }
    }
  });
  while (!is_asked) {  // under the lock that posting needs: the thread has decided by then how long it sleeps
    std::this_thread::yield();
  }
  std::array<std::byte, 8> data{};
  Fabric::begin(call);
  side.fabric.write(1, {}, data, nullptr, &call);
  EXPECT_FALSE(side.fabric.is_ended_by_caller(call));
  thread.join();
}

INSTANTIATE_TEST_SUITE_P(Data, UnorderedFabricTest, testing::Bool(),
                         [](const auto& carries) { return carries.param ? "with_data" : "without_data"; });

}  // namespace
}  // namespace dovetail::comm::rma::test
