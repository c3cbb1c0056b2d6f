// What the programs of two ranks share: MPI as long as they live, turns that begin together, and a report of rank 0.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "harness/harness.hpp"

namespace bench {

/// MPI as long as it lives. Ends the program if the library allows fewer threads than `level`.
class Ranks {
 public:
  Ranks(int* count, char*** arguments, int level) {
    int provided = 0;
    MPI_Init_thread(count, arguments, level, &provided);
    if (provided < level) {
      std::fprintf(stderr, "this MPI library does not allow calls of so many threads\n");
      std::exit(2);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  }
  ~Ranks() { MPI_Finalize(); }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] bool is_first() const noexcept { return rank_ == 0; }
  [[nodiscard]] int other() const noexcept { return 1 - rank_; }

 private:
  int rank_ = 0;
};

/// `measure` by all ranks together: no turn begins before all are ready for it.
inline void measure_ranks(const CommandLine& line, Report& report, Problem problem) {
  problem.prepare = [prepare = std::move(problem.prepare)] {
    prepare();
    MPI_Barrier(MPI_COMM_WORLD);
  };
  measure(line, report, problem);
}

/// The exit status. Rank 0 prints what it has measured; the others only what was wrong.
inline int finish(const Ranks& ranks, Report& report) { return ranks.is_first() ? report.finish() : report.status(); }

}  // namespace bench
