// The end of MPI while tasks are in its calls.
#include <chrono>
#include <string>
#include <thread>

#include "dovetail/dovetail.hpp"
#include "interpose_mpi/ranks.hpp"
#include "mpi/standard_error.hpp"

namespace {

using dovetail::Options;
using dovetail::Runtime;
using dovetail::test::check;
using dovetail::test::next_of;
using dovetail::test::previous_of;
using dovetail::test::Ranks;
using dovetail::test::StandardError;

void in_a_task() {
  Runtime runtime(Options{.workers = 1});
  runtime
      .spawn([] {
        StandardError errors;
        check(MPI_Finalize() != MPI_SUCCESS, "MPI_Finalize in a task");
        errors.wait_for("dovetail: MPI_Finalize in a task");
        int finalized = 1;
        MPI_Finalized(&finalized);
        check(finalized == 0, "MPI_Finalize in a task has ended MPI");
      })
      .get();
}

}  // namespace

int main(int count, char** arguments) {
  // Its destructor would finalize.
  const auto& ranks = *new Ranks(&count, &arguments);
  in_a_task();
  int paused_value = -1;
  int next_value = -1;
  int bound_value = -1;
  MPI_Comm copy = MPI_COMM_NULL;
  Runtime runtime(Options{.workers = 1, .report_after = std::chrono::milliseconds(20)});
  runtime.spawn({.label = "two messages"}, [&] {
    MPI_Recv(&paused_value, 1, MPI_INT, previous_of(ranks), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    // When this begins, MPI_Finalize waits already.
    MPI_Sendrecv(&paused_value, 1, MPI_INT, next_of(ranks), 2, &next_value, 1, MPI_INT, previous_of(ranks), 2,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  });
  runtime.spawn({.label = "bound"},
                [&] { dovetail::mpi::irecv(&bound_value, 1, MPI_INT, previous_of(ranks), 3, MPI_COMM_WORLD); });
  runtime.spawn([] {}).get();  // on the only worker, after the other two have paused and returned
  StandardError errors;
  // What the tasks wait for is sent when MPI_Finalize of their rank has made the runtime say what it waits for.
  std::thread sends([&] {
    errors.wait_for("task 'two messages' waits for MPI_Recv from rank " + std::to_string(previous_of(ranks)) +
                    " with tag 1 in MPI_COMM_WORLD");
    const int value = ranks.rank;
    int seen = 0;
    MPI_Sendrecv(&value, 1, MPI_INT, previous_of(ranks), 4, &seen, 1, MPI_INT, next_of(ranks), 4, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, next_of(ranks), 1, MPI_COMM_WORLD);
    MPI_Send(&value, 1, MPI_INT, next_of(ranks), 3, MPI_COMM_WORLD);
  });
  const int code = MPI_Finalize();
  sends.join();
  const int before = previous_of(ranks);
  const bool right = code == MPI_SUCCESS && paused_value == before && bound_value == before &&
                     next_value == (before + ranks.size - 1) % ranks.size && copy != MPI_COMM_NULL;
  return right ? 0 : 1;
}
