// Segments that end, and begin again with the same numbers. "death": rank 1 kills itself where the others end a segment. "late": rank 0 does not end it.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "comm/rma/group.hpp"
#include "dovetail/dovetail.hpp"
#include "dovetail/rma.hpp"
#include "rank_checks.hpp"

namespace dovetail::rma::test {
namespace {

template <class Failure>
void fails(const Group& group, const std::string& words, const std::function<void()>& call) {
  try {
    call();
    expect(false, ("accepted, where \"" + words + "\" is wrong").c_str(), group.rank());
  } catch (const Failure& error) {
    expect(std::string(error.what()).find(words) != std::string::npos, error.what(), group.rank());
  }
}

std::size_t mapped_segments() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += line.find("dovetail segment") != std::string::npos ? 1 : 0;
  }
  return count;
}

// More of them than a group has numbers, each with memory of zeros and without notifications of the one before.
void many(const Group& group, std::uint64_t seed) {
  const int right = (group.rank() + 1) % group.size();
  const int left = (group.rank() + group.size() - 1) % group.size();
  std::mt19937_64 random(seed);  // the same in all ranks
  Segment kept = Segment::allocate(group, 8);
  const std::size_t mapped = mapped_segments();
  std::vector<bool> seen(256);
  for (std::uint64_t round = 1; round <= 260; ++round) {
    const std::size_t numbers = 1 + random() % 2000;
    Segment segment = Segment::allocate(group, numbers * sizeof(std::uint64_t), {.notifications = 8});
    expect(segment.id() != kept.id(), "the number of a segment that there is", group.rank(), round);
    seen[segment.id()] = true;
    const auto all = segment.as<std::uint64_t>();
    expect(std::ranges::all_of(all, [](std::uint64_t each) { return each == 0; }), "memory of an earlier segment",
           group.rank(), round);
    group.barrier();
    for (std::uint32_t id = 2; id < 8; ++id) {
      expect(!notify_test(segment, id), "a notification of an earlier segment", group.rank(), round);
    }
    group.barrier();
    const std::vector<std::uint64_t> sent(numbers, 1000 * round + static_cast<unsigned>(group.rank()));
    write_notify(sent, {.rank = right, .segment = segment.id()}, {.id = 1});
    for (std::uint32_t id = 2; id < 8; ++id) {
      notify(right, segment.id(), {.id = id});  // which nobody takes
    }
    notify_wait(segment, 1, left);
    expect(all.front() == 1000 * round + static_cast<unsigned>(left) && all.back() == all.front(), "another number",
           group.rank(), round);
    segment.end();
    expect(segment.data() == nullptr && segment.size() == 0 && segment.is_ended(), "not ended", group.rank(), round);
    expect(mapped_segments() == mapped, "memory of an ended segment is mapped", group.rank(), round);
  }
  expect(std::ranges::count(seen, true) == 254, "numbers are not used in turn", group.rank());
  kept.end();
}

std::size_t calls_under_way() {
  std::size_t count = 0;
  comm::rma::Group::current()->for_each_wait(
      [&](const comm::rma::Waiter& waiter) { count += waiter.text().starts_with("read of") ? 1 : 0; });
  return count;
}

// What tasks have begun has come when the segment has ended: writes to memory of the program's own, and reads of it.
void under_way(const Group& group) {
  constexpr std::size_t numbers = 1 << 18;
  constexpr std::size_t parts = 8;
  const int right = (group.rank() + 1) % group.size();
  const int left = (group.rank() + group.size() - 1) % group.size();
  const auto part_of = [](std::vector<std::uint64_t>& all, std::size_t part) {
    return std::span(all).subspan(part * numbers / parts, numbers / parts);
  };
  Runtime runtime = make_runtime();
  for (unsigned round = 1; round <= 5; ++round) {
    std::vector<std::uint64_t> memory(2 * numbers, 7);
    std::vector<std::uint64_t> sent(numbers);
    std::vector<std::uint64_t> read_back(numbers);
    std::iota(sent.begin(), sent.end(), 1'000'000U * (round + 10U * static_cast<unsigned>(group.rank())));
    Segment segment = Segment::use(group, std::as_writable_bytes(std::span(memory)));
    Segment counter = Segment::allocate(group, 8);
    std::atomic<std::size_t> begun{0};
    std::vector<Future<void>> reads;
    for (std::size_t part = 0; part < parts; ++part) {
      runtime.spawn([&, part] {
        write(part_of(sent, part),
              {.rank = right, .segment = segment.id(), .offset = part * numbers / parts * sizeof(std::uint64_t)});
        ++begun;
      });
      reads.push_back(runtime.spawn([&, part] {
        read(std::as_writable_bytes(part_of(read_back, part)),
             {.rank = right,
              .segment = segment.id(),
              .offset = (numbers + part * numbers / parts) * sizeof(std::uint64_t)});
      }));
    }
    const auto is_done = [](const Future<void>& each) { return each.ready(); };
    while (begun < parts ||
           calls_under_way() + static_cast<std::size_t>(std::ranges::count_if(reads, is_done)) < parts) {
      std::this_thread::yield();
    }
    segment.end();
    std::vector<std::uint64_t> wanted(numbers);
    std::iota(wanted.begin(), wanted.end(), 1'000'000U * (round + 10U * static_cast<unsigned>(left)));
    expect(std::ranges::equal(std::span(memory).first(numbers), wanted), "a write has not come", group.rank(), round);
    std::ranges::fill(memory, 9);  // the program's alone
    runtime.wait();
    expect(std::ranges::all_of(read_back, [](std::uint64_t each) { return each == 7; }), "a read has brought another",
           group.rank(), round);
    std::vector<Future<std::uint64_t>> added;
    for (int i = 0; i < 100; ++i) {
      added.push_back(runtime.spawn([&] { return fetch_add({.rank = 0, .segment = counter.id()}, 1); }));
    }
    runtime.wait();
    counter.end();
  }
}

// What is there no more is refused, and what waits for it fails.
void refused(const Group& group) {
  Runtime runtime = make_runtime();
  const Segment others = Segment::allocate(group, 8);
  Segment segment = Segment::allocate(group, 64, {.notifications = 10});
  const Segment copy = segment;
  const std::uint8_t id = segment.id();
  const std::string number = std::to_string(id);
  auto bound = runtime.spawn([&] { notify_awaitall(segment, 1, 3); });
  auto of_others = runtime.spawn([&] { return notify_wait(others, 1); });
  auto pauses = runtime.spawn([&] { return notify_wait(segment, 5); });
  std::size_t waiting = 0;
  while (waiting < 3) {
    waiting = 0;
    comm::rma::Group::current()->for_each_wait(
        [&](const comm::rma::Waiter& waiter) { waiting += waiter.text().starts_with("notification") ? 1 : 0; });
    std::this_thread::yield();
  }
  segment.end();
  fails<std::exception>(group, "of segment " + number + " will not come: this process has ended segment " + number,
                        [&] { bound.get(); });
  fails<std::exception>(group, "notification 5 of segment " + number + " will not come", [&] { pauses.get(); });
  expect(!of_others.ready(), "the wait for another segment has ended", group.rank());
  notify(group.rank(), others.id(), {.id = 1, .value = 6});
  expect(of_others.get() == 6, "another value", group.rank());
  std::uint64_t value = 0;
  const auto bytes = std::as_writable_bytes(std::span(&value, 1));
  for (int rank = 0; rank < group.size(); ++rank) {
    const std::string gone =
        "rank " + std::to_string(rank) + " has no segment " + number + ": it has not begun, or has been ended";
    fails<std::out_of_range>(group, gone, [&] { write(std::span(&value, 1), {.rank = rank, .segment = id}); });
    fails<std::out_of_range>(group, gone, [&] { read(bytes, {.rank = rank, .segment = id}); });
    fails<std::out_of_range>(group, gone, [&] { notify(rank, id, {.id = 1}); });
    fails<std::out_of_range>(group, gone, [&] { fetch_add({.rank = rank, .segment = id}, 1); });
  }
  const std::string ended = "segment " + number + " has been ended";
  for (const Segment& each : {segment, copy}) {
    fails<std::out_of_range>(group, ended, [&] { notify_wait(each, 1); });
    fails<std::out_of_range>(group, ended, [&] { notify_wait_any(each, 1, 2); });
    fails<std::out_of_range>(group, ended, [&] { notify_test(each, 1); });
    fails<std::out_of_range>(group, ended, [&] { Segment(each).end(); });
    fails<std::exception>(group, ended, [&] { runtime.spawn([&] { notify_await(each, 1); }).get(); });
  }
  Segment last = others;
  fails<std::exception>(group, "in an onready", [&] { runtime.spawn({.onready = [&] { last.end(); }}, [] {}).get(); });
  group.barrier();
  last.end();
}

// All end it, or none does.
void agreed(const Group& group) {
  Segment first = Segment::allocate(group, 8);
  Segment second = Segment::allocate(group, 8);
  if (group.size() > 1) {
    const auto last = group.size() - 1;
    const std::string name = "Rank " + std::to_string(last);
    fails<std::runtime_error>(group, name + " cannot end segment " + std::to_string(first.id()) + ": it is printed",
                              [&] { first.end(group.rank() == last ? "it is printed" : ""); });
    const bool is_last = group.rank() == last;
    fails<std::runtime_error>(group, "all ranks begin and end their segments in the same order",
                              [&] { (is_last ? second : first).end(); });
    fails<std::runtime_error>(group, "all ranks begin and end their segments in the same order",
                              [&] { is_last ? static_cast<void>(Segment::allocate(group, 8)) : first.end(); });
    expect(!first.is_ended() && !second.is_ended(), "ended", group.rank());
  }
  // Both are whole.
  const int right = (group.rank() + 1) % group.size();
  for (const Segment& each : {first, second}) {
    const std::uint64_t value = 5;
    write_notify(std::span(&value, 1), {.rank = right, .segment = each.id()}, {.id = 1});
    notify_wait(each, 1);
    expect(each.as<std::uint64_t>()[0] == 5, "another number", group.rank());
  }
  group.barrier();
  Segment third = Segment::allocate(group, 8);
  first.end();
  third.end();
  second.end();
}

// The receiver looks at nothing: its notifications have no room, and end with the segment.
void without_room(const Group& group) {
  Segment segment = Segment::allocate(group, 0);
  Runtime runtime = make_runtime();
  std::atomic<bool> is_sent{false};
  auto floods = runtime.spawn([&] {
    for (std::uint32_t i = 0; i < 3 * comm::rma::Ring::capacity; ++i) {
      notify((group.rank() + 1) % group.size(), segment.id(), {.id = i});
    }
    is_sent = true;
  });
  while (!is_sent) {
    std::this_thread::yield();
  }
  segment.end();
  floods.get();
}

void death(const Group& group) {
  Segment segment = Segment::allocate(group, 8);
  constexpr int victim = 1;
  if (group.rank() == victim) {
    for (int rank = 0; rank < group.size(); ++rank) {
      if (rank != victim) {
        notify_wait(segment, static_cast<std::uint32_t>(rank), rank);
      }
    }
    std::raise(SIGKILL);
  }
  notify(victim, segment.id(), {.id = static_cast<std::uint32_t>(group.rank())});
  try {
    segment.end();
  } catch (const Error& error) {
    std::printf("rank %d: %s; ended: %d, of rank %d\n", group.rank(), error.what(), segment.is_ended() ? 1 : 0,
                error.rank());
  }
}

void late(const Group& group) {
  Segment segment = Segment::allocate(group, 64);
  Segment others = Segment::allocate(group, 8);
  if (group.rank() == 0) {
    for (int rank = 1; rank < group.size(); ++rank) {
      notify_wait(others, static_cast<std::uint32_t>(rank), rank);
    }
  } else {
    fails<std::runtime_error>(group, "does not end it in time (GroupOptions::start_timeout)", [&] { segment.end(); });
    fails<std::runtime_error>(group, "No segment can begin or end in this group any more", [&] { others.end(); });
    fails<std::runtime_error>(group, "No segment can begin or end in this group any more",
                              [&] { Segment::allocate(group, 1); });
    notify(0, others.id(), {.id = static_cast<std::uint32_t>(group.rank())});
  }
}

}  // namespace
}  // namespace dovetail::rma::test

int main(int count, char** arguments) {
  using namespace dovetail::rma;
  const std::string_view what = count > 1 ? arguments[1] : "";
  GroupOptions options;
  if (what == "late") {
    options.start_timeout = std::chrono::seconds(2);
  }
  const Group group = Group::start(options);
  if (what == "death") {
    test::death(group);
  } else if (what == "late") {
    test::late(group);
  } else {
    test::many(group, 1);
    test::under_way(group);
    test::refused(group);
    test::agreed(group);
    test::without_room(group);
    group.barrier();
  }
  return test::failures == 0 ? 0 : 1;
}
