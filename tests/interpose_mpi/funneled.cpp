// With MPI_THREAD_FUNNELED, the main thread calls MPI for all tasks, in every kind of its waits.
#include <chrono>

#include "levels.hpp"

namespace dovetail::test {
namespace {

constexpr int tag_of_probe = 3 * tags;
constexpr int tag_of_onready = 4 * tags;
constexpr int tag_at_end = 5 * tags;

// A call without a form that does not block, unmodified calls, and a message that is looked for.
void call_of_every_kind(const Ranks& ranks) {
  MPI_Comm copy{};
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  const int sent = ranks.rank;
  int received = -1;
  MPI_Sendrecv(&sent, 1, MPI_INT, next_of(ranks), 0, &received, 1, MPI_INT, previous_of(ranks), 0, copy,
               MPI_STATUS_IGNORE);
  check(received == previous_of(ranks), "MPI_Sendrecv has not brought what was sent");
  mpi::isend(&sent, 1, MPI_INT, next_of(ranks), tag_of_probe, copy);
  MPI_Status status;
  mpi::probe(MPI_ANY_SOURCE, tag_of_probe, copy, &status);
  check(status.MPI_SOURCE == previous_of(ranks), "the message of another rank was found");
  mpi::recv(&received, 1, MPI_INT, status.MPI_SOURCE, tag_of_probe, copy);
  MPI_Comm_free(&copy);
}

// An `onready` cannot pause until its message has been started.
void bind_in_onready(Runtime& runtime, const Ranks& ranks) {
  int received = -1;
  const int sent = tag_of_onready + ranks.rank;
  auto receives = runtime.spawn(
      {.onready = [&] { mpi::irecv(&received, 1, MPI_INT, previous_of(ranks), tag_of_onready, MPI_COMM_WORLD); }},
      [&] { check(received == tag_of_onready + previous_of(ranks), "the body began before its message had come"); });
  runtime.spawn([&] { mpi::send(&sent, 1, MPI_INT, next_of(ranks), tag_of_onready, MPI_COMM_WORLD); });
  while (!receives.wait_for(std::chrono::milliseconds(1))) {
  }
  receives.get();
  runtime.wait();
}

}  // namespace
}  // namespace dovetail::test

int main(int argc, char** argv) {
  using namespace dovetail::test;
  dovetail::Runtime runtime(dovetail::Options{.workers = 4});
  int received = -1;
  int previous = -1;
  {
    const Ranks ranks(&argc, &argv, MPI_THREAD_FUNNELED);
    spawn_all(runtime, ranks);
    runtime.wait();
    runtime.spawn([&ranks] { call_of_every_kind(ranks); }).get();
    bind_in_onready(runtime, ranks);
    previous = previous_of(ranks);
    // MPI_Finalize waits for these, and calls MPI for them.
    runtime.spawn(
        {.onready = [&] { dovetail::mpi::irecv(&received, 1, MPI_INT, previous, tag_at_end, MPI_COMM_WORLD); }}, [] {});
    runtime.spawn(
        {.onready = [&] { dovetail::mpi::isend(&ranks.rank, 1, MPI_INT, next_of(ranks), tag_at_end, MPI_COMM_WORLD); }},
        [] {});
    check(entered_elsewhere == 0, "another thread than the main one has been in MPI");
  }
  runtime.wait();
  return received == previous && entered_elsewhere == 0 ? 0 : 1;
}
