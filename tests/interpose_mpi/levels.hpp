// Below MPI_THREAD_MULTIPLE, MPI takes no lock: one thread at a time may call it, or the main thread only. Tasks of many workers send, receive and
// fail here; the library's own calls are watched where the program makes them. Included once by each program.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "ranks.hpp"

namespace {

std::atomic<bool> inside{false};
std::atomic<int> entered_twice{0};
std::atomic<int> entered_elsewhere{0};
const std::thread::id main_thread = std::this_thread::get_id();

class Inside {
 public:
  Inside() {
    if (std::this_thread::get_id() != main_thread) {
      ++entered_elsewhere;
    }
    if (inside.exchange(true)) {
      ++entered_twice;
    }
  }
  ~Inside() { inside.store(false); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

}  // namespace

extern "C" int MPI_Isend(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm communicator,
                         MPI_Request* request) {
  const Inside here;
  return PMPI_Isend(data, count, type, rank, tag, communicator, request);
}
extern "C" int MPI_Irecv(void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm communicator,
                         MPI_Request* request) {
  const Inside here;
  return PMPI_Irecv(data, count, type, rank, tag, communicator, request);
}

namespace dovetail::test {
namespace {

constexpr int rounds = 500;
constexpr int tags = 32;

// Each of many tasks sends to the next rank and receives of the one before.
void exchange(const Ranks& ranks, int tag) {
  for (int round = 0; round < rounds; ++round) {
    const int sent = round * tags + tag;
    int received = -1;
    spawn([&] { mpi::isend(&sent, 1, MPI_INT, next_of(ranks), tag, MPI_COMM_WORLD); });
    mpi::recv(&received, 1, MPI_INT, previous_of(ranks), tag, MPI_COMM_WORLD);
    check(received == sent, "a message is not the expected one");
    wait();
  }
}

// A message that is longer than its buffer. MPI is asked for the text of that error.
void fail(const Ranks& ranks, int tag) {
  for (int round = 0; round < rounds / 10; ++round) {
    const std::vector<int> sent(4, tag);
    int received = -1;
    spawn([&] { mpi::isend(sent.data(), 4, MPI_INT, next_of(ranks), tag, MPI_COMM_WORLD); });
    try {
      mpi::recv(&received, 1, MPI_INT, previous_of(ranks), tag, MPI_COMM_WORLD);
      check(false, "a message that was cut off is no error");
    } catch (const mpi::Error& error) {
      check(error.error_class() == MPI_ERR_TRUNCATE && error.tag() == tag, error.what());
    }
    wait();
  }
}

// What all tasks of a rank do.
void spawn_all(Runtime& runtime, const Ranks& ranks) {
  for (int tag = 0; tag < tags; ++tag) {
    runtime.spawn([&ranks, tag] { exchange(ranks, tag); });
    if (ranks.size > 1) {  // Open MPI itself says nothing of a message to the own rank that is cut off
      runtime.spawn([&ranks, tag] { fail(ranks, tags + tag); });
    }
  }
}

}  // namespace
}  // namespace dovetail::test
