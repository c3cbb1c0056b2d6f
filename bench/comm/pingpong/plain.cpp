// MPI alone: the main thread of each rank sends and receives.
#include "pingpong/pingpong.hpp"

int main(int argc, char** argv) {
  bench::CommandLine line("pingpong", "plain");
  bench::PingPong problem(line);
  const std::string& level = line.choice("level", {"multiple", "single"}, "how many threads may call MPI");
  line.parse(argc, argv);
  const bench::Ranks ranks(&argc, &argv, level == "single" ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE);
  return problem.measure(
      ranks, [](const auto& play) { play(); },
      [&](const std::int64_t& sent) { MPI_Send(&sent, 1, MPI_INT64_T, ranks.other(), 0, MPI_COMM_WORLD); },
      [&](std::int64_t& received) {
        MPI_Recv(&received, 1, MPI_INT64_T, ranks.other(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      });
}
