// A number goes to and fro between a task of each of two ranks, by writes with notifications. Rank 0 prints the nanoseconds of half a round trip.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "dovetail/dovetail.hpp"
#include "dovetail/rma.hpp"

namespace {

int play(int count, char** arguments) {
  namespace rma = dovetail::rma;
  const std::uint64_t rounds = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 0;
  if (rounds == 0) {
    std::fprintf(stderr, "nodes_pingpong: give the number of rounds, above 0\n");
    return 2;
  }
  const rma::Group group = rma::Group::start();
  if (group.size() != 2) {
    std::fprintf(stderr, "nodes_pingpong: it is for two ranks, not %d\n", group.size());
    return 2;
  }
  const rma::Segment segment = rma::Segment::allocate(group, sizeof(std::uint64_t), {.notifications = 1});
  const int other = 1 - group.rank();
  dovetail::Runtime runtime(dovetail::Options{.workers = 1});
  std::uint64_t value = 0;
  const auto send = [&] {
    rma::write_notify(std::span(&value, 1), {.rank = other, .segment = segment.id()}, {.id = 0});
  };
  const auto receive = [&] {
    rma::notify_wait(segment, 0);
    value = segment.as<std::uint64_t>()[0] + 1;
  };
  const auto exchange = [&](std::uint64_t times) {
    for (std::uint64_t round = 0; round < times; ++round) {
      if (group.rank() == 0) {
        send();
        receive();
      } else {
        receive();
        send();
      }
    }
  };
  runtime.spawn([&] { exchange(rounds / 10 + 1); }).get();
  group.barrier();
  value = 0;
  const auto begin = std::chrono::steady_clock::now();
  runtime.spawn([&] { exchange(rounds); }).get();
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
  if (group.rank() == 0) {
    if (value != 2 * rounds) {
      std::fprintf(stderr, "nodes_pingpong: %llu came back\n", static_cast<unsigned long long>(value));
      return 1;
    }
    std::printf("%.0f %s\n", static_cast<double>(took.count()) / static_cast<double>(2 * rounds),
                group.transport(other).c_str());
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return play(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nodes_pingpong: %s\n", error.what());
    return 1;
  }
}
