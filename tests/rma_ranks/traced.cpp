// A program whose notifications are known, for traced_test.py.
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "dovetail/dovetail.hpp"
#include "dovetail/rma.hpp"

namespace dovetail::rma::test {
namespace {

constexpr std::uint32_t rounds = 3;
constexpr std::uint32_t range = 4;

// Each round is acknowledged, so that no notification comes before the one with its number is taken. One worker: nothing may hold it.
int run() {
  const Group group = Group::start();
  const Segment segment = Segment::allocate(group, range * sizeof(std::uint64_t));
  const int right = (group.rank() + 1) % group.size();
  const int left = (group.rank() + group.size() - 1) % group.size();
  Runtime runtime(Options{.workers = 1});
  group.barrier();  // all record from here on
  int wrong = 0;
  int notifies = 0;
  int takes = 0;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    const std::string number = " " + std::to_string(round);
    runtime.spawn({.label = "notifies" + number, .access = {inout(notifies)}}, [&, round] {
      notify(right, segment.id(), {.id = 0, .value = round + 1});
      notify_wait(segment, 1, right);
    });
    runtime.spawn({.label = "takes" + number, .access = {inout(takes)}}, [&, round] {
      wrong += notify_wait(segment, 0, left) == round + 1 ? 0 : 1;
      notify(left, segment.id(), {.id = 1});
    });
  }
  runtime.wait();
  // Several at once, bound to a task that starts when all have come.
  runtime.spawn({.label = "starts with all", .onready = [&] { notify_awaitall(segment, 4, range, nullptr, left); }},
                [] {});
  const std::uint64_t data = 5;
  runtime.spawn({.label = "writes"}, [&] {
    for (std::uint32_t id = 0; id < range; ++id) {
      write_notify(std::as_bytes(std::span(&data, 1)),
                   {.rank = right, .segment = segment.id(), .offset = id * sizeof data}, {.id = 4 + id});
    }
  });
  // The first of several; the thread that takes the others is no task.
  runtime.spawn({.label = "takes any"}, [&] { wrong += notify_wait_any(segment, 10, 2, left).id == 10 ? 0 : 1; });
  runtime.spawn({.label = "notifies any"}, [&] { notify(right, segment.id(), {.id = 10}); });
  runtime.wait();
  notify(right, segment.id(), {.id = 12});  // not by a task
  runtime.spawn({.label = "takes from outside"}, [&] { notify_wait(segment, 12, left); });
  runtime.spawn({.label = "notifies a thread"}, [&] { notify(right, segment.id(), {.id = 13}); });
  notify_wait(segment, 13, left);
  runtime.wait();
  group.barrier();
  return wrong;
}

}  // namespace
}  // namespace dovetail::rma::test

int main() {
  const int wrong = dovetail::rma::test::run();
  if (wrong != 0) {
    std::fprintf(stderr, "%d notifications have other values\n", wrong);
  }
  return wrong == 0 ? 0 : 1;
}
