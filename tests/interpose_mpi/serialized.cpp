// With MPI_THREAD_SERIALIZED, the thread that has the turn calls MPI.
#include "levels.hpp"

int main(int argc, char** argv) {
  using namespace dovetail::test;
  const Ranks ranks(&argc, &argv, MPI_THREAD_SERIALIZED);
  {
    dovetail::Runtime runtime(dovetail::Options{.workers = 4});
    spawn_all(runtime, ranks);
    runtime.wait();
  }
  check(entered_twice == 0, "two threads have been in MPI");
  return 0;
}
