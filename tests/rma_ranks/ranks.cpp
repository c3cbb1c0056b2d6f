// Processes of a node, in tasks: halos with acknowledgements, random programs against a plain model, counters, sleep. Started with any number of
// ranks by any starter.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "comm/rma/group.hpp"
#include "dovetail/dovetail.hpp"
#include "dovetail/rma.hpp"
#include "rank_checks.hpp"

namespace dovetail::rma::test {
namespace {

// Each rank writes blocks to the right neighbour, which says when it has read them: figure 8 of the paper. One worker per rank, so that a
// task that held it would hang.
void halos(const Group& group) {
  constexpr std::size_t numbers = 64;
  constexpr std::uint32_t blocks = 8;
  constexpr std::uint32_t rounds = 200;
  const Segment segment = Segment::allocate(group, blocks * numbers * sizeof(std::uint64_t));
  const int rank = group.rank();
  const int right = (rank + 1) % group.size();
  const int left = (rank + group.size() - 1) % group.size();
  std::vector<std::array<std::uint64_t, numbers>> sent(blocks);
  std::vector<std::array<std::uint64_t, numbers>> seen(blocks);
  Runtime runtime = make_runtime();
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (std::uint32_t block = 0; block < blocks; ++block) {
      runtime.spawn({.access = {out(sent[block])}}, [&, round, block] {
        for (std::size_t i = 0; i < numbers; ++i) {
          sent[block][i] = 1'000'000U * static_cast<unsigned>(rank) + 1000U * block + round + i;
        }
      });
      runtime.spawn({.access = {in(sent[block])},
                     .onready =
                         [&, round, block] {
                           if (round > 0) {
                             notify_await(segment, blocks + block, nullptr, right);
                           }
                         }},
                    [&, block] {
                      write_notify(sent[block],
                                   {.rank = right, .segment = segment.id(), .offset = block * sizeof sent[block]},
                                   {.id = block});
                    });
      runtime.spawn(
          {.access = {out(seen[block])}, .onready = [&, block] { notify_await(segment, block, nullptr, left); }},
          [&, round, block] {
            const auto all = segment.as<std::uint64_t>().subspan(block * numbers, numbers);
            std::ranges::copy(all, seen[block].begin());
            if (round + 1 < rounds) {
              notify(left, segment.id(), {.id = blocks + block});
            }
          });
      runtime.spawn({.access = {in(seen[block])}}, [&, round, block] {
        for (std::size_t i = 0; i < numbers; ++i) {
          const std::uint64_t wanted = 1'000'000U * static_cast<unsigned>(left) + 1000U * block + round + i;
          expect(seen[block][i] == wanted, "a halo is not what the neighbour sent", rank, seen[block][i]);
        }
      });
    }
  }
  runtime.wait();
}

// All ranks draw the same program: which rank writes what where, and how it is waited for.
void random_programs(const Group& group, std::uint64_t seed) {
  constexpr std::uint32_t cells = 300;
  const Segment segment = Segment::allocate(group, cells * sizeof(std::uint64_t), {.notifications = cells});
  std::vector<std::uint64_t> taken(cells);
  for (std::uint64_t program = 0; program < 100; ++program) {
    std::mt19937_64 random(seed + program);
    Runtime runtime = make_runtime();
    const auto ranks = static_cast<unsigned>(group.size());
    std::vector<std::function<void()>> actions;
    std::vector<std::uint64_t> wanted(cells);
    std::ranges::fill(taken, 0);
    for (std::uint32_t cell = 0; cell < cells; ++cell) {
      const int from = static_cast<int>(random() % ranks);
      const int to = static_cast<int>(random() % ranks);
      const std::uint64_t value = random();
      const bool in_onready = random() % 2 == 0;
      const bool in_task = random() % 2 == 0;
      if (from == group.rank()) {
        const auto send = [&segment, cell, to, value] {
          write_notify(std::span(&value, 1), {.rank = to, .segment = segment.id(), .offset = cell * sizeof value},
                       {.id = cell, .value = static_cast<std::uint32_t>(value | 1)});
        };
        actions.emplace_back([&runtime, send, in_task] { in_task ? static_cast<void>(runtime.spawn(send)) : send(); });
      }
      if (to == group.rank()) {
        wanted[cell] = value;
        const auto take = [&segment, &taken, cell] { taken[cell] = segment.as<std::uint64_t>()[cell]; };
        actions.emplace_back([&runtime, &segment, take, in_onready, cell, from] {
          if (in_onready) {
            runtime.spawn({.onready = [&segment, cell, from] { notify_await(segment, cell, nullptr, from); }}, take);
          } else {
            runtime.spawn([&segment, take, cell] {
              notify_wait(segment, cell);
              take();
            });
          }
        });
      }
    }
    std::mt19937_64 own(seed + 1000 * program + static_cast<unsigned>(group.rank()));
    std::ranges::shuffle(actions, own);
    for (const auto& action : actions) {
      action();
    }
    runtime.wait();
    expect(taken == wanted, "a random program moved something else", group.rank(), program);
    group.barrier();  // the next one uses the same cells
  }
}

void counters(const Group& group) {
  const Segment segment = Segment::allocate(group, 64);
  constexpr std::uint64_t each = 5000;
  {
    Runtime runtime = make_runtime();
    for (std::uint64_t i = 0; i < each; ++i) {
      runtime.spawn([&] { fetch_add({.rank = 0, .segment = segment.id(), .offset = 8}, 1); });
    }
  }
  group.barrier();
  const std::uint64_t counted = fetch_add({.rank = 0, .segment = segment.id(), .offset = 8}, 0);
  expect(counted == each * static_cast<unsigned>(group.size()), "additions were lost", group.rank(), counted);
}

// The waker sends when the sleeper sleeps: the bell, or the thread of the fabric, is all that wakes it.
void sleepers(const Group& group) {
  const Segment segment = Segment::allocate(group, 0);
  Runtime runtime = make_runtime();
  const auto& own = comm::rma::Group::current()->peer(group.rank()).mailbox;
  for (int sleeper = 0; sleeper < group.size() && group.size() > 1; ++sleeper) {
    const int waker = (sleeper + 1) % group.size();
    for (std::uint32_t round = 0; round < 20; ++round) {
      if (group.rank() == sleeper) {
        auto woken = runtime.spawn([&] { notify_wait(segment, 0, waker); });
        while (!own.says_asleep()) {
          std::this_thread::yield();
        }
        notify(waker, segment.id(), {.id = 2});
        woken.get();
        notify(waker, segment.id(), {.id = 1});
      } else if (group.rank() == waker) {
        notify_wait(segment, 2, sleeper);
        notify(sleeper, segment.id(), {.id = 0});
        notify_wait(segment, 1, sleeper);
      }
    }
    group.barrier();
  }
}

// Larger than what is copied, from memory that is changed when the task has completed; read back by others; parts of several ranks at once.
void large_blocks(const Group& group) {
  constexpr std::size_t numbers = 100'000;
  const auto bytes = [](std::span<std::uint64_t> all) { return std::as_writable_bytes(all); };
  const Segment segment = Segment::allocate(group, numbers * sizeof(std::uint64_t));
  const int right = (group.rank() + 1) % group.size();
  const int left = (group.rank() + group.size() - 1) % group.size();
  std::vector<std::uint64_t> sent(numbers);
  Runtime runtime = make_runtime();
  for (std::uint32_t round = 1; round <= 5; ++round) {
    runtime.spawn({.access = {inout(sent)}}, [&, round] {
      std::iota(sent.begin(), sent.end(), 1'000'000U * static_cast<unsigned>(group.rank()) + round);
    });
    runtime.spawn({.access = {in(sent)}},
                  [&] { write_notify(sent, {.rank = right, .segment = segment.id()}, {.id = 0}); });
    notify_wait(segment, 0, left);
    const auto first = segment.as<std::uint64_t>();
    expect(first.front() == 1'000'000U * static_cast<unsigned>(left) + round &&
               first.back() == first.front() + numbers - 1,
           "a large block is not what the neighbour sent", group.rank(), first.front());
    group.barrier();
    std::vector<std::uint64_t> all(numbers * static_cast<std::size_t>(group.size()));
    std::vector<Transfer> parts;
    for (int rank = 0; rank < group.size(); ++rank) {
      parts.push_back({bytes(all).subspan(static_cast<std::size_t>(rank) * numbers * sizeof(std::uint64_t),
                                          numbers * sizeof(std::uint64_t)),
                       {.rank = rank, .segment = segment.id()}});
    }
    runtime.spawn([&] { read_list(parts); }).get();
    for (int rank = 0; rank < group.size(); ++rank) {
      const int writer = (rank + group.size() - 1) % group.size();
      const std::uint64_t wanted = 1'000'000U * static_cast<unsigned>(writer) + round + numbers - 1;
      expect(all[(static_cast<std::size_t>(rank) + 1) * numbers - 1] == wanted, "a read brought something else",
             group.rank(), static_cast<std::uint64_t>(rank));
    }
    group.barrier();
  }
}

// More than a ring takes, to a rank that looks at it late.
void floods(const Group& group) {
  constexpr std::uint32_t most = 3 * comm::rma::Ring::capacity;
  const Segment segment = Segment::allocate(group, 0, {.notifications = most + 1});
  const int right = (group.rank() + 1) % group.size();
  std::vector<std::uint32_t> values(most);
  Runtime runtime = make_runtime();
  runtime.spawn([&] {
    for (std::uint32_t id = 0; id < most; ++id) {
      notify(right, segment.id(), {.id = id, .value = id + 1});
    }
  });
  runtime.spawn([&] { notify_awaitall(segment, 0, most, values.data()); });
  runtime.wait();
  for (std::uint32_t id = 0; id < most; ++id) {
    expect(values[id] == id + 1, "a notification got lost in a flood", group.rank(), id);
  }
}

}  // namespace
}  // namespace dovetail::rma::test

int main() {
  using namespace dovetail::rma::test;
  const char* const given = std::getenv("DOVETAIL_TEST_SEED");
  const dovetail::rma::Group group = dovetail::rma::Group::start();
  const dovetail::rma::Segment common = dovetail::rma::Segment::allocate(group, 8);
  if (group.rank() == 0) {
    common.as<std::uint64_t>()[0] = given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
    std::printf("DOVETAIL_TEST_SEED=%llu\n", static_cast<unsigned long long>(common.as<std::uint64_t>()[0]));
  }
  group.barrier();
  std::uint64_t seed = 0;
  dovetail::rma::read(std::as_writable_bytes(std::span(&seed, 1)), {.rank = 0, .segment = common.id()});
  halos(group);
  random_programs(group, seed);
  counters(group);
  sleepers(group);
  floods(group);
  large_blocks(group);
  group.barrier();
  return failures == 0 ? 0 : 1;
}
