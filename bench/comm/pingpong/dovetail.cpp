// A task of each rank sends and receives; it pauses while it waits.
#include "dovetail/dovetail.hpp"
#include "dovetail/mpi.hpp"
#include "pingpong/pingpong.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("pingpong", "dovetail");
  bench::PingPong problem(line);
  line.parse(argc, argv);
  const int rank = bench::begin_ranks(&argc, &argv, MPI_THREAD_MULTIPLE);
  int status = 0;
  {
    dovetail::Options options;
    options.workers = static_cast<unsigned>(line.workers());
    dovetail::Runtime runtime(options);
    status = problem.measure(rank, [&](std::int64_t rounds, std::int64_t& value) {
      runtime
          .spawn([&] {
            const int other = 1 - rank;
            for (std::int64_t i = 0; i < rounds; ++i) {
              if (rank == 0) {
                ++value;
                dovetail::mpi::send(&value, 1, MPI_INT64_T, other, 0, MPI_COMM_WORLD);
                dovetail::mpi::recv(&value, 1, MPI_INT64_T, other, 0, MPI_COMM_WORLD);
              } else {
                dovetail::mpi::recv(&value, 1, MPI_INT64_T, other, 0, MPI_COMM_WORLD);
                ++value;
                dovetail::mpi::send(&value, 1, MPI_INT64_T, other, 0, MPI_COMM_WORLD);
              }
            }
          })
          .get();
    });
  }
  MPI_Finalize();
  return status;
}
