// A message of 8 bytes goes to and fro between two ranks.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstdlib>

#include "harness/harness.hpp"

namespace bench {

class PingPong {
 public:
  explicit PingPong(CommandLine& line)
      : line_(line), rounds_(line.size("rounds", 50'000, "messages each way in a measurement")) {}

  /// After `parse`. `play` sends and receives `rounds` messages; `rank` is 0 or 1, and 0 sends first. Returns the exit status.
  template <class Play>
  int measure(int rank, Play&& play) {
    Report report(line_);
    for (int i = 0; i < line_.warmup() + line_.repeat(); ++i) {
      MPI_Barrier(MPI_COMM_WORLD);
      std::int64_t value = 0;
      const std::int64_t begin = wall_nanoseconds();
      const std::int64_t cpu = cpu_nanoseconds();
      play(rounds_, value);
      if (i >= line_.warmup()) {
        const auto messages = static_cast<double>(2 * rounds_);
        report.add("ns", static_cast<double>(wall_nanoseconds() - begin) / messages);
        report.add("cpu_ns", static_cast<double>(cpu_nanoseconds() - cpu) / messages);
      }
      if (value != 2 * rounds_) {
        report.wrong("the last value");
      }
    }
    return rank == 0 ? report.finish() : 0;
  }

 private:
  const CommandLine& line_;
  const std::int64_t& rounds_;
};

inline int begin_ranks(int* count, char*** arguments, int threads) {
  int provided = 0;
  MPI_Init_thread(count, arguments, threads, &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

}  // namespace bench
