// A call that waits for other ranks, beside a task that makes them come.
#pragma once

#include <atomic>

#include "interpose_mpi/ranks.hpp"

namespace dovetail::test {

/// All ranks make a collective `call` in a task. The neighbour's begins when it has a message that a second task sends, which runs after the first
/// one on the only worker: a call that holds it hangs. Rank 0 waits for none.
template <class Call>
void beside_another_task(const Ranks& ranks, Call&& call) {
  Runtime runtime(Options{.workers = 1});
  std::atomic<bool> other_ran{false};
  if (ranks.rank != 0) {
    int token = 0;
    MPI_Recv(&token, 1, MPI_INT, previous_of(ranks), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  runtime.spawn([&] {
    check(!other_ran, "the order of the tasks");
    call();
  });
  runtime.spawn([&] {
    other_ran = true;
    if (ranks.rank + 1 < ranks.size) {
      MPI_Send(&ranks.rank, 1, MPI_INT, next_of(ranks), 1, MPI_COMM_WORLD);
    }
  });
  runtime.wait();
}

}  // namespace dovetail::test
