// What programs of several ranks share.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "dovetail/dovetail.hpp"
#include "dovetail/mpi.hpp"

namespace dovetail::test {

/// MPI as long as it lives; if not said otherwise, with calls from every thread.
class Ranks {
 public:
  Ranks(int* count, char*** arguments, int level = MPI_THREAD_MULTIPLE) {
    int provided = 0;
    MPI_Init_thread(count, arguments, level, &provided);
    if (provided < level) {
      std::fprintf(stderr, "this MPI library does not allow calls of so many threads\n");
      std::exit(77);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
  ~Ranks() { MPI_Finalize(); }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank = 0;
  int size = 0;
};

/// The neighbours of a rank where all ranks form a ring.
inline int next_of(const Ranks& ranks) { return (ranks.rank + 1) % ranks.size; }
inline int previous_of(const Ranks& ranks) { return (ranks.rank + ranks.size - 1) % ranks.size; }

/// Ends all ranks if it does not hold.
inline void check(bool holds, const std::string& what) {
  if (!holds) {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    std::fprintf(stderr, "rank %d: %s\n", rank, what.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

}  // namespace dovetail::test
