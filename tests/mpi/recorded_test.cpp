// What a trace has of messages, from many tasks and workers at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "dovetail/trace.hpp"
#include "fake_library.hpp"
#include "tasking/support.hpp"
#include "trace/recorder.hpp"
#include "trace/timeline.hpp"

namespace dovetail::comm::mpi::test {
namespace {

using detail::mpi::Description;
using detail::mpi::Found;
using detail::mpi::Start;
using dovetail::test::Random;
using dovetail::test::scaled;
using trace::Direction;
using trace::Message;

constexpr std::uint32_t world_rank_of_1 = 2;  // as FakeLibrary says
constexpr std::uint32_t world_rank_of_3 = 0;

Description with(const char* call, int peer, int tag, bool receives) {
  Description made = Description::of(call);
  made.peer = peer;
  made.tag = tag;
  made.receives = receives;
  made.has_communicator = true;
  made.has_size = !receives;
  made.count = receives ? 0 : tag;
  return made;
}

// Its request has ended when it is started, or a look later.
Start begins(std::atomic<int>* number) {
  return Start::of([number](void* request) {
    const FakeLibrary::Inside inside(fake());
    const int begun = fake().begin();
    number->store(begun);
    fake().end(begun);
    std::memcpy(request, &begun, sizeof begun);
    return 0;
  });
}

class Collector final : public trace::TimelineVisitor {
 public:
  void message(const Message& each) override { messages.push_back(each); }
  void messages_outstanding(trace::Time, std::size_t count) override { outstanding = count; }
  std::vector<Message> messages;
  std::size_t outstanding = 0;
};

class Recorded {
 public:
  Recorded() : recording(trace::Recorder::instance().copy()) { trace::replay(recording, found); }
  std::string label(const Message& message) const { return recording.names[message.label]; }
  trace::Recording recording;
  Collector found;
};

// The fake library numbers requests as it gets them.
TEST(MessagesRecorded, InTheOrderInWhichTheLibraryGetsThemAndWithTheirTasks) {
  const std::size_t tasks = scaled(2'000, 400);
  std::vector<std::atomic<int>> numbers(tasks);
  fake();
  trace::start();
  {
    Runtime runtime(Options{.workers = 4});
    runtime
        .spawn({.label = "spawns"},
               [&] {
                 Random random(1);
                 for (std::size_t i = 0; i < tasks; ++i) {
                   const bool sends = random.once_in(2);
                   const Description description =
                       sends ? with("MPI_Send", 3, 5, false)
                             : with("MPI_Recv", detail::mpi::any_source, detail::mpi::any_tag, true);
                   const auto communicate = [&numbers, i, description, binds = random.once_in(2)] {
                     if (binds) {
                       detail::mpi::start_and_bind(Abi::mpich, description, begins(&numbers[i]), nullptr);
                     } else {
                       detail::mpi::start_and_wait(Abi::mpich, description, begins(&numbers[i]), nullptr);
                     }
                   };
                   const std::string label = std::to_string(i);
                   if (random.once_in(4)) {
                     spawn({.label = label,
                            .onready =
                                [&numbers, i, description] {
                                  detail::mpi::start_and_bind(Abi::mpich, description, begins(&numbers[i]), nullptr);
                                }},
                           [] {});
                   } else {
                     spawn({.label = label}, communicate);
                   }
                 }
               })
        .get();
    runtime.wait();
  }
  trace::stop();
  Recorded recorded;
  std::vector<Message>& messages = recorded.found.messages;
  ASSERT_EQ(messages.size(), tasks);
  EXPECT_EQ(recorded.found.outstanding, 0U);
  std::sort(messages.begin(), messages.end(), [](const Message& a, const Message& b) { return a.order < b.order; });
  int before = -1;
  for (std::size_t i = 0; i < tasks; ++i) {
    const Message& message = messages[i];
    EXPECT_EQ(message.order, i);
    EXPECT_EQ(message.bytes, message.direction == Direction::send ? std::uint64_t{message.tag} * 8 : 0);
    EXPECT_TRUE(message.has_ended);
    EXPECT_LE(message.begin, message.end);
    const auto task = static_cast<std::size_t>(std::stoul(recorded.label(message)));
    const int number = numbers.at(task);
    EXPECT_GT(number, before) << "task " << task;
    before = number;
    if (message.direction == Direction::receive) {
      EXPECT_EQ(message.peer, world_rank_of_1);
      EXPECT_EQ(message.tag, static_cast<std::uint32_t>(number));
    } else {
      EXPECT_EQ(message.direction, Direction::send);
      EXPECT_EQ(message.peer, world_rank_of_3);
      EXPECT_EQ(message.tag, 5U);
    }
  }
}

TEST(MessagesRecorded, ACallThatExchangesIsOneOfEachDirection) {
  fake();
  trace::start();
  {
    Runtime runtime(Options{.workers = 1});
    runtime.spawn({.label = "exchanges"}, [] {
      Found found;
      Description description = with("MPI_Sendrecv", detail::mpi::any_source, detail::mpi::any_tag, true);
      description.exchanges = true;
      description.sent_to = 3;
      description.sent_tag = 8;
      description.found = &found;
      const auto once = [&found](void* ended) {
        found = {1, 7};
        *static_cast<bool*>(ended) = true;
        return 0;
      };
      const auto never = [](void*) { return 1; };
      detail::mpi::attempt_and_wait(Abi::mpich, description, Start::of(once), Start::of(never));
    });
    // Looks only: nothing is received.
    runtime.spawn({.label = "probes"}, [] {
      const auto once = [](void* ended) {
        *static_cast<bool*>(ended) = true;
        return 0;
      };
      detail::mpi::attempt_and_wait(Abi::mpich, with("MPI_Probe", 1, 7, true), Start::of(once), Start::of(once));
    });
    runtime.wait();
  }
  trace::stop();
  const Recorded recorded;
  std::map<Direction, std::vector<std::uint32_t>> seen;
  for (const Message& message : recorded.found.messages) {
    if (recorded.label(message) == "exchanges") {
      seen[message.direction] = {message.peer, message.tag};
    } else {
      EXPECT_EQ(message.direction, Direction::none);
    }
  }
  EXPECT_EQ(recorded.found.messages.size(), 3U);
  EXPECT_EQ(seen[Direction::receive], (std::vector<std::uint32_t>{world_rank_of_1, 7}));
  EXPECT_EQ(seen[Direction::send], (std::vector<std::uint32_t>{world_rank_of_3, 8}));
}

}  // namespace
}  // namespace dovetail::comm::mpi::test
