// MPI alone.
#include "sleeping/sleeping.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("sleeping", "plain");
  bench::Sleeping problem(line);
  line.parse(argc, argv);
  const bench::Ranks ranks(&argc, &argv, MPI_THREAD_SINGLE);
  return problem.measure(ranks, [&](std::int64_t& sent) {
    MPI_Recv(&sent, 1, MPI_INT64_T, ranks.other(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
}
