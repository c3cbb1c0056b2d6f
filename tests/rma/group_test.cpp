// Tasks of one process, which is a group of its own and sends to itself.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <numeric>

#include "comm/rma/group.hpp"
#include "comm/rma/mailbox.hpp"
#include "dovetail/rma.hpp"
#include "tasking/support.hpp"
#include "trace/recorder.hpp"
#include "trace/timeline.hpp"

namespace dovetail::rma::test {
namespace {

using dovetail::test::Gate;
using dovetail::test::Random;
using dovetail::test::scaled;

class OneSidedTest : public testing::TestWithParam<unsigned> {
 protected:
  OneSidedTest()
      : group_(Group::start()),
        segment_(Segment::allocate(group_, 4096, {.notifications = 1000})),
        runtime_(Options{.workers = GetParam(), .report_after = std::chrono::seconds(0)}) {}
  Remote at(std::uint64_t offset) const { return {.rank = 0, .segment = segment_.id(), .offset = offset}; }
  Group group_;
  Segment segment_;
  Runtime runtime_;
};

TEST_P(OneSidedTest, ATaskThatWaitsGivesItsCoreAway) {
  std::vector<Future<std::uint32_t>> waiting;
  for (std::uint32_t id = 0; id < 2 * GetParam(); ++id) {
    waiting.push_back(runtime_.spawn([this, id] { return notify_wait(segment_, id); }));
  }
  std::atomic<bool> others{false};
  runtime_.spawn([&] { others = true; }).get();
  EXPECT_TRUE(others);
  EXPECT_FALSE(waiting.back().ready());
  for (std::uint32_t id = 0; id < 2 * GetParam(); ++id) {
    notify(0, segment_.id(), {.id = id, .value = id + 100});
  }
  for (std::uint32_t id = 0; id < 2 * GetParam(); ++id) {
    EXPECT_EQ(waiting[id].get(), id + 100);
  }
}

TEST_P(OneSidedTest, WhatIsWrittenIsThereWhenItIsNotified) {
  const std::vector<std::int64_t> numbers{1, 2, 3};
  std::vector<std::int64_t> read_back(3);
  std::uint32_t value = 0;
  std::vector<std::int64_t> seen;
  auto receives = runtime_.spawn({.onready = [&] { notify_await(segment_, 7, &value); }}, [&] {
    const auto all = segment_.as<std::int64_t>();
    seen.assign(all.begin() + 2, all.begin() + 5);
  });
  EXPECT_FALSE(receives.ready());
  runtime_.spawn([&] { write_notify(numbers, at(16), {.id = 7, .value = 42}); }).get();
  receives.get();
  EXPECT_EQ(seen, numbers);
  EXPECT_EQ(value, 42U);
  read(std::as_writable_bytes(std::span(read_back)), at(16));
  EXPECT_EQ(read_back, numbers);
}

TEST_P(OneSidedTest, ABoundTaskCompletesWhenAllHaveCome) {
  std::array<std::uint32_t, 4> values{};
  int order = 0;
  Gate returned;
  auto bound = runtime_.spawn({.access = {out(order)}}, [&] {
    notify_awaitall(segment_, 10, 4, values.data());
    returned.open();
  });
  auto after = runtime_.spawn({.access = {in(order)}}, [] {});
  returned.pass();
  for (const std::uint32_t id : {13U, 10U, 12U}) {
    notify(0, segment_.id(), {.id = id, .value = id});
  }
  EXPECT_FALSE(after.ready());
  notify(0, segment_.id(), {.id = 11, .value = 11});
  after.get();
  EXPECT_EQ(values, (std::array<std::uint32_t, 4>{10, 11, 12, 13}));
}

TEST_P(OneSidedTest, TheFirstOfSeveral) {
  auto first = runtime_.spawn([&] { return notify_wait_any(segment_, 20, 10); });
  notify(0, segment_.id(), {.id = 25, .value = 5});
  const Notified found = first.get();
  EXPECT_EQ(found.id, 25U);
  EXPECT_EQ(found.value, 5U);
  EXPECT_EQ(notify_test(segment_, 25), std::nullopt);
}

TEST_P(OneSidedTest, ListsAreOneNotification) {
  std::vector<std::uint64_t> numbers(6);
  std::iota(numbers.begin(), numbers.end(), 1);
  const auto bytes = std::as_writable_bytes(std::span(numbers));
  const std::array parts{Transfer{bytes.subspan(0, 16), at(0)}, Transfer{bytes.subspan(16, 32), at(64)}};
  write_list_notify(parts, {.id = 1});
  EXPECT_EQ(notify_wait(segment_, 1), 1U);
  const auto all = segment_.as<std::uint64_t>();
  EXPECT_EQ(std::vector(all.begin(), all.begin() + 2), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(std::vector(all.begin() + 8, all.begin() + 12), (std::vector<std::uint64_t>{3, 4, 5, 6}));
  std::ranges::fill(numbers, 0);
  read_list(parts);
  EXPECT_EQ(numbers, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6}));
}

TEST_P(OneSidedTest, NumbersThatTasksAddTo) {
  const std::size_t tasks = scaled(1000, 100);
  for (std::size_t i = 0; i < tasks; ++i) {
    runtime_.spawn([&] { fetch_add(at(8), 3); });
  }
  runtime_.wait();
  EXPECT_EQ(fetch_add(at(8), 0), 3 * tasks);
  EXPECT_EQ(compare_swap(at(8), 1, 2), 3 * tasks);
  EXPECT_EQ(compare_swap(at(8), 3 * tasks, 2), 3 * tasks);
  EXPECT_EQ(fetch_add(at(8), 0), 2U);
}

// A task that sends more than the ring takes completes when there is room. Nothing is lost, and nothing is overtaken.
TEST_P(OneSidedTest, WhatHasNoRoomIsSentLater) {
  constexpr std::uint32_t sent = 2 * comm::rma::Ring::capacity + 5;
  auto sends = runtime_.spawn([&] {
    for (std::uint32_t i = 1; i <= sent; ++i) {
      notify(0, segment_.id(), {.id = i % 1000, .value = i});
    }
  });
  sends.get();
  runtime_.wait();
  const Segment other = Segment::allocate(group_, 0, {.notifications = 1});
  notify(0, other.id(), {.id = 0});
  notify_wait(other, 0);  // what was sent before has come
  // The last one of each number replaces those before.
  for (std::uint32_t id = 0; id < 1000; ++id) {
    const std::uint32_t value = notify_wait(segment_, id);
    EXPECT_EQ(value % 1000, id);
    EXPECT_GT(value, sent - 1000);
  }
}

TEST_P(OneSidedTest, ATestFindsTheLastOfMany) {
  constexpr std::uint32_t count = 1000;
  for (std::uint32_t id = 0; id < count; ++id) {
    notify(0, segment_.id(), {.id = id});
  }
  EXPECT_EQ(notify_test(segment_, count - 1), 1U);
}

TEST_P(OneSidedTest, ABarrierOfOneReturns) {
  for (int i = 0; i < 5; ++i) {
    group_.barrier();
    runtime_.spawn([&] { group_.barrier(); }).get();
  }
}

TEST_P(OneSidedTest, WhatIsWrongIsSaidBeforeAnythingIsWritten) {
  const std::array<std::byte, 8> data{std::byte{1}};
  const auto says = [](auto&& call, const std::string& words) {
    try {
      call();
      ADD_FAILURE() << "accepted, where \"" << words << "\" is wrong";
    } catch (const std::exception& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  };
  says([&] { write(data, {.rank = 1}); }, "rank 1 is none of the group's");
  says([&] { write(data, {.rank = -1}); }, "rank -1");
  says([&] { write(data, {.rank = 0, .segment = 9}); }, "has no segment 9");
  says([&] { write(data, at(4089)); }, "bytes 4089 to 4097 are beyond segment 0 of rank 0, which has 4096");
  says([&] { write(data, at(~std::uint64_t{0})); }, "are beyond segment 0");
  says([&] { write_notify(data, at(0), {.id = 1000}); }, "notification 1000 is beyond segment 0 of rank 0");
  says([&] { write_notify(data, at(0), {.id = 1, .value = 0}); }, "the value 0");
  says([&] { fetch_add(at(4), 1); }, "multiple of 8");
  says([&] { notify_await(segment_, 1); }, "outside of one");
  says([&] { notify_wait(segment_, 1000); }, "which has 1000");
  says([&] { notify_wait_any(segment_, 999, 2); }, "which has 1000");
  says([&] { notify_wait_any(segment_, 1, 0); }, "beyond");
  says([&] { notify_wait(segment_, 1, 3); }, "rank 3");
  says([&] { Group::start(); }, "a group already");
  const std::array parts{Transfer{{}, at(0)}, Transfer{{}, {.rank = 1}}};
  says([&] { write_list_notify(parts, {.id = 1}); }, "it is for one");
  says([&] { write_list_notify({}, {.id = 1}); }, "at least one part");
  EXPECT_EQ(segment_.data()[0], std::byte{0});
  EXPECT_EQ(notify_test(segment_, 1), std::nullopt);
  Gate waits;
  auto twice = runtime_.spawn([&] {
    notify_await(segment_, 50);
    says([&] { notify_await(segment_, 50); }, "waited for already");
    says([&] { notify_wait(segment_, 50); }, "waited for already");
    waits.open();
  });
  waits.pass();
  notify(0, segment_.id(), {.id = 50});
  twice.get();
  auto in_onready =
      runtime_.spawn({.onready = [&] { says([&] { notify_wait(segment_, 51); }, "in an onready"); }}, [] {});
  in_onready.get();
}

TEST_P(OneSidedTest, TheChildOfAForkHasNoGroup) {
  EXPECT_EXIT(
      {
        try {
          notify(0, 0, {.id = 1});
        } catch (const std::logic_error& error) {
          std::fputs(error.what(), stderr);
          _exit(3);
        }
        _exit(0);
      },
      testing::ExitedWithCode(3), "There is no group");
}

// Programs of random sends and waits of all kinds, in tasks of random order; each value is taken exactly once.
TEST_P(OneSidedTest, RandomSendsAndWaits) {
  Random random(GetParam());
  const std::size_t rounds = scaled(60, 8);
  for (std::size_t round = 0; round < rounds; ++round) {
    constexpr std::uint32_t ids = 200;
    std::vector<std::uint32_t> values(ids);
    std::vector<std::function<void()>> actions;
    for (std::uint32_t id = 0; id < ids;) {
      const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(random.between(1, 6), ids - id));
      std::uint32_t* const here = values.data() + id;
      switch (random.between(0, 2)) {
        case 0:
          actions.emplace_back(
              [=, this] { runtime_.spawn([=, this] { notify_awaitall(segment_, id, count, here); }); });
          break;
        case 1:
          actions.emplace_back([=, this] {
            runtime_.spawn({.onready = [=, this] { notify_awaitall(segment_, id, count, here); }}, [] {});
          });
          break;
        default:
          actions.emplace_back([=, this] {
            runtime_.spawn([=, this] {
              for (std::uint32_t i = 0; i < count; ++i) {
                const Notified found = notify_wait_any(segment_, id, count);
                here[found.id - id] = found.value;
              }
            });
          });
      }
      for (std::uint32_t i = 0; i < count; ++i) {
        const bool in_task = random.once_in(2);
        actions.emplace_back([=, this] {
          const auto send = [=, this] { notify(0, segment_.id(), {.id = id + i, .value = 7 * (id + i) + 1}); };
          in_task ? static_cast<void>(runtime_.spawn(send)) : send();
        });
      }
      id += count;
    }
    for (std::size_t i = actions.size() - 1; i > 0; --i) {
      std::swap(actions[i], actions[random.between(0, i)]);
    }
    for (const auto& action : actions) {
      action();
    }
    runtime_.wait();
    for (std::uint32_t id = 0; id < ids; ++id) {
      ASSERT_EQ(values[id], 7 * id + 1);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, OneSidedTest, testing::Values(1U, 2U, 4U));

TEST(GroupTest, WhatWaitsAtItsEndFails) {
  auto group = std::make_unique<Group>(Group::start());
  auto segment = std::make_unique<Segment>(Segment::allocate(*group, 8));
  Runtime runtime(Options{.workers = 1});
  Gate waits;
  auto waiting = runtime.spawn({.label = "waits"}, [&] {
    const Segment& its = *segment;
    notify_await(its, 3);
    waits.open();
  });
  waits.pass();
  segment.reset();
  group.reset();
  try {
    waiting.get();
    ADD_FAILURE() << "completed";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("notification 3 of segment 0 will not come"), std::string::npos)
        << error.what();
  }
  EXPECT_THROW(notify(0, 0, {.id = 1}), std::logic_error);
  EXPECT_EQ(Group::start().size(), 1) << "the next one";
}

// The number of the first serves a later one: a copy of the first is not that one.
TEST(GroupTest, ASegmentEndsAndItsNumberIsUsedAgain) {
  const Group group = Group::start();
  Segment first = Segment::allocate(group, 8, {.notifications = 4});
  const Segment copy = first;
  const std::uint8_t number = first.id();
  notify(0, number, {.id = 2});
  first.end();
  EXPECT_TRUE(copy.is_ended());
  EXPECT_EQ(first.size(), 0U);
  std::vector<Segment> others;
  for (int i = 0; i < 255; ++i) {
    others.push_back(Segment::allocate(group, 8, {.notifications = 4}));
  }
  EXPECT_EQ(others.back().id(), number);
  EXPECT_FALSE(others.back().is_ended());
  EXPECT_TRUE(copy.is_ended());
  EXPECT_EQ(notify_test(others.back(), 2), std::nullopt);
  notify(0, number, {.id = 2});
  EXPECT_THROW(notify_test(copy, 2), std::out_of_range);
  EXPECT_EQ(notify_test(others.back(), 2), 1U);
  try {
    Segment::allocate(group, 8);
    FAIL() << "256 segments at a time";
  } catch (const std::length_error& error) {
    EXPECT_NE(std::string(error.what()).find("Segment::end"), std::string::npos) << error.what();
  }
  others[100].end();
  EXPECT_EQ(Segment::allocate(group, 8).id(), others[100].id());
}

TEST(GroupTest, WhatHasComeNeedsNoPause) {
  const Group group = Group::start();
  const Segment segment = Segment::allocate(group, 8, {.notifications = 10});
  trace::start();
  {
    Runtime runtime(Options{.workers = 1});
    runtime.spawn({.label = "takes"}, [&] {
      for (std::uint32_t id = 0; id < 10; ++id) {
        notify(0, segment.id(), {.id = id, .value = id + 1});
      }
      EXPECT_EQ(notify_wait(segment, 3), 4U);
      EXPECT_EQ(notify_wait_any(segment, 3, 2).id, 4U);
    });
  }
  trace::stop();
  struct Slices final : trace::TimelineVisitor {
    void slice(const trace::Slice& slice) override { pauses += slice.ended_by == trace::Kind::paused ? 1 : 0; }
    int pauses = 0;
  } slices;
  trace::replay(trace::Recorder::instance().copy(), slices);
  EXPECT_EQ(slices.pauses, 0);
}

// The thread that it was rung for may sleep, and not hear it any more.
TEST(GroupTest, WhoSilencesTheBellTakesWhatItWasRungFor) {
  const Group group = Group::start();
  const Segment segment = Segment::allocate(group, 8, {.notifications = 10});
  comm::rma::Group& in = *comm::rma::Group::current();
  const auto rings = [&] {
    pollfd bell{in.descriptor(), POLLIN, 0};
    return poll(&bell, 1, 0) == 1;
  };
  ASSERT_TRUE(in.may_sleep());
  for (std::uint32_t id = 0; id < 3; ++id) {
    notify(0, segment.id(), {.id = id});
    EXPECT_TRUE(rings()) << "for notification " << id;
    base::Fifo<comm::rma::Waiter> ended;
    in.take_events(ended);
    EXPECT_FALSE(rings());
    EXPECT_FALSE(in.has_arrivals());
  }
}

// Nobody rings for a process that is awake, and the clock may be slow.
TEST(GroupTest, WhatOneThreadLeavesRingsForTheNext) {
  constexpr std::uint32_t many = comm::rma::Ring::capacity;
  const Group group = Group::start();
  const Segment segment = Segment::allocate(group, 0, {.notifications = many});
  comm::rma::Group& in = *comm::rma::Group::current();
  const auto rings = [&] {
    pollfd bell{in.descriptor(), POLLIN, 0};
    return poll(&bell, 1, 0) == 1;
  };
  in.stay_awake();
  for (std::uint32_t id = 0; id < many; ++id) {
    notify(0, segment.id(), {.id = id});
  }
  ASSERT_FALSE(rings());
  base::Fifo<comm::rma::Waiter> ended;
  in.look_and_sleep(ended);
  ASSERT_TRUE(in.has_arrivals()) << "one look takes so much that no other source gets its turn";
  EXPECT_TRUE(rings());
  in.take_events(ended);
  EXPECT_FALSE(in.has_arrivals());
  EXPECT_FALSE(rings());
  for (std::uint32_t id = 0; id < many; ++id) {
    EXPECT_TRUE(notify_test(segment, id)) << "notification " << id;
  }
}

TEST(GroupTest, AReportNamesTheNotification) {
  const Group group = Group::start();
  const Segment segment = Segment::allocate(group, 0, {.notifications = 10});
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const int before = dup(STDERR_FILENO);
  dup2(ends[1], STDERR_FILENO);
  std::string said;
  std::thread reader([&] {
    std::array<char, 4096> text{};
    while (said.find("halo") == std::string::npos) {
      const ssize_t got = ::read(ends[0], text.data(), text.size());
      if (got <= 0) {
        break;
      }
      said.append(text.data(), static_cast<std::size_t>(got));
    }
    notify(0, segment.id(), {.id = 4});
  });
  {
    Runtime runtime(Options{.workers = 1, .report_after = std::chrono::milliseconds(60)});
    runtime.spawn({.label = "halo"}, [&] { return notify_wait(segment, 4, 0); }).get();
  }
  reader.join();
  dup2(before, STDERR_FILENO);
  close(before);
  close(ends[0]);
  close(ends[1]);
  EXPECT_NE(said.find("notification 4 of segment 0 from rank 0"), std::string::npos) << said;
}

}  // namespace
}  // namespace dovetail::rma::test
