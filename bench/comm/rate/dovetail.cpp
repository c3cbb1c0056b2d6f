// Tasks exchange messages. `paused`: one task for each channel, which pauses while it waits. `bound`: one task for each message each way, which
// they are bound to; a channel is an access.
#include <vector>

#include "dovetail/mpi.hpp"
#include "rate/rate.hpp"
#include "tasking/common.hpp"

namespace {

void exchange_paused(bench::Rate& problem, int other) {
  for (int channel = 0; channel < problem.channels(); ++channel) {
    dovetail::spawn([&problem, other, channel] {
      for (std::int64_t round = 0; round < problem.rounds(); ++round) {
        const std::int64_t sent = bench::Rate::value_of(channel, round);
        std::int64_t received = -1;
        dovetail::mpi::send(&sent, 1, MPI_INT64_T, other, channel, MPI_COMM_WORLD);
        dovetail::mpi::recv(&received, 1, MPI_INT64_T, other, channel, MPI_COMM_WORLD);
        problem.received(channel, round, received);
      }
    });
  }
  dovetail::wait();
}

void exchange_bound(bench::Rate& problem, int other) {
  struct alignas(64) Channel {
    std::int64_t sent = 0;
    std::int64_t received = 0;
  };
  std::vector<Channel> channels(static_cast<std::size_t>(problem.channels()));
  const auto check = [&](int number, std::int64_t round) {
    problem.received(number, round, channels[static_cast<std::size_t>(number)].received);
  };
  for (std::int64_t round = 0; round < problem.rounds(); ++round) {
    for (int number = 0; number < problem.channels(); ++number) {
      Channel& channel = channels[static_cast<std::size_t>(number)];
      dovetail::spawn({.access = {dovetail::inout(channel)}}, [&check, &channel, other, number, round] {
        if (round > 0) {
          check(number, round - 1);
        }
        channel.sent = bench::Rate::value_of(number, round);
        dovetail::mpi::irecv(&channel.received, 1, MPI_INT64_T, other, number, MPI_COMM_WORLD);
        dovetail::mpi::isend(&channel.sent, 1, MPI_INT64_T, other, number, MPI_COMM_WORLD);
      });
    }
  }
  dovetail::wait();
  for (int number = 0; number < problem.channels(); ++number) {
    check(number, problem.rounds() - 1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("rate", "dovetail");
  bench::Rate problem(line);
  const std::string& way = line.choice("way", {"paused", "bound"}, "how tasks wait for their messages");
  line.parse(argc, argv);
  const bench::Ranks ranks(&argc, &argv, MPI_THREAD_MULTIPLE);
  dovetail::Runtime runtime(bench::runtime_options(line));
  const auto exchange = way == "paused" ? exchange_paused : exchange_bound;
  return problem.measure(ranks, [&] { runtime.spawn([&] { exchange(problem, ranks.other()); }).get(); });
}
