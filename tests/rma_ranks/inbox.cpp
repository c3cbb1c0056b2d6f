// Tests of inboxes between real ranks: tasks and threads send, and tasks receive. Any starter runs it with any number of ranks. With the argument
// "death", rank 1 kills itself while the others wait for a message.
#include "dovetail/rma_inbox.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "dovetail/dovetail.hpp"
#include "rank_checks.hpp"

namespace dovetail::rma::test {
namespace {

constexpr unsigned last_resort_seconds = 100;

template <class Exception, class Call>
bool throws(const Call& call) {
  try {
    call();
  } catch (const Exception&) {
    return true;
  }
  return false;
}

// A message says who has sent it as the how many-th to this rank, and is as long as it likes.
struct Head {
  std::int32_t from;
  std::uint32_t number;
};
std::vector<std::byte> message(int from, std::uint32_t number, std::size_t bytes) {
  const Head head{from, number};
  std::vector<std::byte> made(std::max(bytes, sizeof head), static_cast<std::byte>(number));
  std::ranges::copy(std::as_bytes(std::span(&head, 1)), made.begin());
  return made;
}

// What has been received, which is checked when it comes.
class Received {
 public:
  Received(int rank, int size) : rank_(rank), next_(static_cast<std::size_t>(size)) {}
  void check(const Inbox::Received& received, std::span<const std::byte> bytes) {
    Head head{};
    std::ranges::copy(bytes.first(sizeof head), std::as_writable_bytes(std::span(&head, 1)).begin());
    expect(head.from == received.rank, "a message has another sender", rank_);
    expect(head.number == next_[static_cast<std::size_t>(received.rank)]++, "a message came out of order", rank_);
    const auto is_right = [&](std::byte each) { return each == static_cast<std::byte>(head.number); };
    expect(std::ranges::all_of(bytes.subspan(sizeof head), is_right), "a message has other bytes", rank_);
  }

 private:
  const int rank_;
  std::vector<std::uint32_t> next_;
};

// All ranks draw the same program: who sends how much to whom. Those that send and those that receive are tasks of one worker.
void random_programs(const Group& group, std::uint64_t seed) {
  const auto ranks = static_cast<unsigned>(group.size());
  for (std::uint64_t program = 0; program < 10; ++program) {
    std::mt19937_64 random(seed + program);
    const InboxOptions options{.bytes = static_cast<std::uint32_t>(8 + random() % 1000),
                               .messages = static_cast<std::uint32_t>(1 + random() % 5)};
    const Inbox inbox = Inbox::open(group, options);
    Runtime runtime = make_runtime();
    Received received(group.rank(), group.size());
    int order = 0;  // of what this rank sends and receives, each in a line
    int here = 0;
    std::vector<std::uint32_t> numbers(ranks);
    for (int i = 0; i < 1000; ++i) {
      const int from = static_cast<int>(random() % ranks);
      const int to = static_cast<int>(random() % ranks);
      const std::size_t bytes = sizeof(Head) + random() % (options.bytes - sizeof(Head) + 1);
      if (to == group.rank()) {
        ++here;
      }
      if (from == group.rank()) {
        const std::uint32_t number = numbers[static_cast<std::size_t>(to)]++;
        runtime.spawn({.access = {inout(order)}},
                      [&inbox, from, to, number, bytes] { inbox.send(to, message(from, number, bytes)); });
      }
    }
    std::vector<std::byte> into(options.bytes);
    for (int i = 0; i < here; ++i) {
      runtime.spawn({.access = {inout(into)}}, [&] {
        const Inbox::Received one = inbox.receive(into);
        received.check(one, std::span(into).first(one.bytes));
      });
    }
    runtime.wait();
    group.barrier();
    expect(!inbox.try_receive(into), "a message is left", group.rank());
  }
}

// Several tasks wait for messages at the same time; threads that are none send.
void several_receivers(const Group& group) {
  constexpr int messages = 200;
  const Inbox inbox = Inbox::open(group);
  Runtime runtime = make_runtime();
  std::vector<std::uint64_t> numbers(messages);
  for (std::uint64_t& number : numbers) {
    runtime.spawn([&inbox, &number] { inbox.receive(std::as_writable_bytes(std::span(&number, 1))); });
  }
  std::thread sender([&] {
    for (std::uint64_t i = 0; i < messages; ++i) {
      inbox.send((group.rank() + 1) % group.size(), std::span(&i, 1));
    }
  });
  runtime.wait();
  sender.join();
  std::ranges::sort(numbers);
  for (std::uint64_t i = 0; i < messages; ++i) {
    expect(numbers[i] == i, "a message was lost, or came twice", group.rank());
  }
}

// Each rank has filled its places when the first message is taken.
void senders_take_turns(const Group& group) {
  constexpr std::uint32_t each = 3;
  const Inbox inbox = Inbox::open(group, {.bytes = 8, .messages = each});
  std::uint64_t number = 0;
  for (std::uint32_t i = 0; i < each; ++i) {
    inbox.send(0, std::span(&number, 1));
  }
  group.barrier();
  if (group.rank() == 0) {
    for (std::uint32_t i = 0; i < each; ++i) {
      for (int sender = 0; sender < group.size(); ++sender) {
        const auto received = inbox.receive(std::as_writable_bytes(std::span(&number, 1)));
        expect(received.rank == sender, "a sender was served out of turn", 0);
      }
    }
  }
  group.barrier();
}

void refused(const Group& group) {
  const int rank = group.rank();
  expect(throws<std::invalid_argument>([&] { Inbox::open(group, {.bytes = 4097}); }), "too many bytes", rank);
  expect(throws<std::invalid_argument>([&] { Inbox::open(group, {.messages = 0}); }), "no messages", rank);
  if (group.size() > 1) {
    for (const InboxOptions& other :
         {InboxOptions{.messages = rank == 0 ? 3U : 4U}, {.bytes = rank == 0 ? 1000U : 1024U}}) {
      expect(throws<std::invalid_argument>([&] { Inbox::open(group, other); }), "other options", rank);
    }
  }
  const Inbox inbox = Inbox::open(group, {.bytes = 16, .messages = 1});
  const std::array<std::byte, 17> data{};
  expect(throws<std::invalid_argument>([&] { inbox.send(rank, data); }), "a long message", rank);
  expect(throws<std::invalid_argument>([&] { inbox.send(group.size(), std::span(data).first(1)); }), "a rank", rank);
  inbox.send(rank, std::span(data).first(9));
  std::array<std::byte, 16> into{};
  const auto short_one = std::span(into).first(8);
  expect(throws<std::length_error>([&] { inbox.receive(short_one); }), "a message that does not fit", rank);
  expect(throws<std::length_error>([&] { inbox.try_receive(short_one); }), "it does still not fit", rank);
  expect(inbox.receive(into).bytes == 9, "it stays", rank);
  inbox.send(rank, std::span(data).first(0));
  const auto empty = inbox.try_receive({});
  expect(empty && empty->bytes == 0 && empty->rank == rank, "an empty message", rank);
  expect(!inbox.try_receive(into), "one was taken twice", rank);
  Runtime runtime = make_runtime();
  const auto in_onready = [&](const std::function<void()>& call) {
    return throws<TaskFailed>([&] { runtime.spawn({.onready = call}, [] {}).get(); });
  };
  expect(in_onready([&] { inbox.receive(into); }), "receives in an onready", rank);
  expect(in_onready([&] { inbox.send(rank, std::span(data).first(1)); }), "sends in an onready", rank);
  group.barrier();
}

void death() {
  constexpr int victim = 1;
  const Group group = Group::start();
  const Inbox inbox = Inbox::open(group, {.bytes = 8, .messages = 2});
  const std::uint64_t sent = 7;
  std::uint64_t number = 0;
  const auto place = std::as_writable_bytes(std::span(&number, 1));
  if (group.rank() == victim) {  // what it has sent has arrived when it is answered
    inbox.send(0, std::span(&sent, 1));
    inbox.send(2, std::span(&sent, 1));
    inbox.receive(place);
    inbox.receive(place);
    raise(SIGKILL);
  }
  Runtime runtime = make_runtime();
  const auto say = [&](const char* what, const std::function<void()>& call) {
    std::string became = "nothing failed";
    try {
      runtime.spawn({.label = what}, call).get();
    } catch (const TaskFailed& failure) {
      became = failure.what();
    }
    std::printf("rank %d: %s: %s\n", group.rank(), what, became.c_str());
    std::fflush(stdout);
  };
  say("sent before", [&] { expect(inbox.receive(place).rank == victim, "sender", 0); });
  inbox.send(victim, std::span(&sent, 1));
  say("receive", [&] { inbox.receive(place); });
  say("send", [&] { inbox.send(victim, std::span(&sent, 1)); });
  inbox.send(group.rank(), std::span(&sent, 1));
  say("from itself", [&] { inbox.receive(place); });
}

}  // namespace
}  // namespace dovetail::rma::test

int main(int count, char**) {
  using namespace dovetail::rma::test;
  alarm(last_resort_seconds);
  if (count > 1) {
    death();
    return failures == 0 ? 0 : 1;
  }
  const dovetail::rma::Group group = dovetail::rma::Group::start();
  constexpr std::uint64_t seed = 20261126;
  random_programs(group, seed);
  several_receivers(group);
  senders_take_turns(group);
  refused(group);
  if (failures > 0) {
    std::fprintf(stderr, "seed %llu\n", static_cast<unsigned long long>(seed));
  }
  return failures == 0 ? 0 : 1;
}
