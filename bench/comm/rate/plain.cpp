// MPI alone: each thread starts a window of messages and waits for them all. One thread by itself needs no MPI_THREAD_MULTIPLE.
#include <thread>
#include <vector>

#include "rate/rate.hpp"

namespace {

void exchange(bench::Rate& problem, int other, int first) {
  const int window = problem.window();
  const auto size = static_cast<std::size_t>(window);
  std::vector<std::int64_t> sent(size);
  std::vector<std::int64_t> received(size);
  std::vector<MPI_Request> requests(2 * size);
  for (std::int64_t round = 0; round < problem.rounds(); ++round) {
    for (int i = 0; i < window; ++i) {
      const auto at = static_cast<std::size_t>(i);
      MPI_Irecv(&received[at], 1, MPI_INT64_T, other, first + i, MPI_COMM_WORLD, &requests[at]);
    }
    for (int i = 0; i < window; ++i) {
      const auto at = static_cast<std::size_t>(i);
      sent[at] = bench::Rate::value_of(first + i, round);
      MPI_Isend(&sent[at], 1, MPI_INT64_T, other, first + i, MPI_COMM_WORLD, &requests[size + at]);
    }
    MPI_Waitall(2 * window, requests.data(), MPI_STATUSES_IGNORE);
    for (int i = 0; i < window; ++i) {
      problem.received(first + i, round, received[static_cast<std::size_t>(i)]);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::CommandLine line("rate", "plain");
  bench::Rate problem(line);
  const std::string& level = line.choice("level", {"multiple", "single"}, "how many threads may call MPI");
  line.parse(argc, argv);
  const bool is_single = level == "single";
  if (is_single && line.workers() != 1) {
    std::fprintf(stderr, "rate: --level single needs --workers 1\n");
    return 2;
  }
  const bench::Ranks ranks(&argc, &argv, is_single ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE);
  return problem.measure(ranks, [&] {
    std::vector<std::jthread> threads;
    for (int i = 1; i < line.workers(); ++i) {
      threads.emplace_back([&problem, &ranks, i] { exchange(problem, ranks.other(), i * problem.window()); });
    }
    exchange(problem, ranks.other(), 0);
  });
}
