// MPI alone: the main thread of each rank sends and receives.
#include "pingpong/pingpong.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("pingpong", "plain");
  bench::PingPong problem(line);
  const std::string& level = line.choice("level", {"multiple", "single"}, "how many threads may call MPI");
  line.parse(argc, argv);
  const int rank = bench::begin_ranks(&argc, &argv, level == "single" ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE);
  const int status = problem.measure(rank, [rank](std::int64_t rounds, std::int64_t& value) {
    const int other = 1 - rank;
    for (std::int64_t i = 0; i < rounds; ++i) {
      if (rank == 0) {
        ++value;
        MPI_Send(&value, 1, MPI_INT64_T, other, 0, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_INT64_T, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(&value, 1, MPI_INT64_T, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        ++value;
        MPI_Send(&value, 1, MPI_INT64_T, other, 0, MPI_COMM_WORLD);
      }
    }
  });
  MPI_Finalize();
  return status;
}
