// Fabrics on two test doubles of providers, since this machine has neither: one delivers in any order, and one never wakes a thread that sleeps.
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/descriptor.hpp"
#include "comm/rma/fabric.hpp"
#include "fabric_side.hpp"
#include "tasking/support.hpp"

namespace dovetail::comm::rma::test {
namespace {

using dovetail::test::Random;
using dovetail::test::scaled;

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
  std::string name() const override { return name_; }
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
  std::string name() const override { return name_; }
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
  base::Fifo<Waiter> none;
  side.fabric.drain(none);  // as a thread does that has heard of the end of a rank: the other one sleeps on
  std::array<std::byte, 8> data{};
  Fabric::begin(call);
  side.fabric.write(1, {}, data, nullptr, &call);
  if (side.fabric.is_ended_by_caller(call)) {  // the thread was faster
    call.has_ended = true;
    side.fabric.wake();
  }
  thread.join();
}

INSTANTIATE_TEST_SUITE_P(Data, UnorderedFabricTest, testing::Bool(),
                         [](const auto& carries) { return carries.param ? "with_data" : "without_data"; });

}  // namespace
}  // namespace dovetail::comm::rma::test
