// A task of each rank sends and receives; it pauses while it waits.
#include "pingpong/pingpong.hpp"

#include "dovetail/mpi.hpp"
#include "tasking/common.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("pingpong", "dovetail");
  bench::PingPong problem(line);
  line.parse(argc, argv);
  const bench::Ranks ranks(&argc, &argv, MPI_THREAD_MULTIPLE);
  dovetail::Runtime runtime(bench::runtime_options(line));
  return problem.measure(
      ranks, [&](const auto& play) { runtime.spawn(play).get(); },
      [&](const std::int64_t& sent) { dovetail::mpi::send(&sent, 1, MPI_INT64_T, ranks.other(), 0, MPI_COMM_WORLD); },
      [&](std::int64_t& received) {
        dovetail::mpi::recv(&received, 1, MPI_INT64_T, ranks.other(), 0, MPI_COMM_WORLD);
      });
}
