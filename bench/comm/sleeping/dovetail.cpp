// A task waits.
#include "sleeping/sleeping.hpp"

#include "dovetail/mpi.hpp"
#include "tasking/common.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("sleeping", "dovetail");
  bench::Sleeping problem(line);
  line.parse(argc, argv);
  const bench::Ranks ranks(&argc, &argv, MPI_THREAD_MULTIPLE);
  dovetail::Runtime runtime(bench::runtime_options(line));
  return problem.measure(ranks, [&](std::int64_t& sent) {
    runtime.spawn([&] { dovetail::mpi::recv(&sent, 1, MPI_INT64_T, ranks.other(), 0, MPI_COMM_WORLD); }).get();
  });
}
