// Counts that are wider than `int`: MPI 4 has calls for them, which this program counts. An older MPI library has none.
#include <array>
#include <atomic>
#include <cstddef>
#include <vector>

#include "dovetail/dovetail.hpp"
#include "interpose_mpi/ranks.hpp"

namespace {

namespace mpi = dovetail::mpi;
using dovetail::Options;
using dovetail::Runtime;
using dovetail::test::check;
using dovetail::test::next_of;
using dovetail::test::previous_of;
using dovetail::test::Ranks;

// As wide as counts may be.
#if MPI_VERSION >= 4
using Large = std::size_t;
#else
using Large = int;
#endif
std::atomic<int> large_calls{0};

}  // namespace

#if MPI_VERSION >= 4
// Before MPI's own.
extern "C" {
int MPI_Isend_c(const void* data, MPI_Count count, MPI_Datatype type, int rank, int tag, MPI_Comm communicator,
                MPI_Request* request) {
  ++large_calls;
  return PMPI_Isend_c(data, count, type, rank, tag, communicator, request);
}
int MPI_Issend_c(const void* data, MPI_Count count, MPI_Datatype type, int rank, int tag, MPI_Comm communicator,
                 MPI_Request* request) {
  ++large_calls;
  return PMPI_Issend_c(data, count, type, rank, tag, communicator, request);
}
int MPI_Irecv_c(void* data, MPI_Count count, MPI_Datatype type, int rank, int tag, MPI_Comm communicator,
                MPI_Request* request) {
  ++large_calls;
  return PMPI_Irecv_c(data, count, type, rank, tag, communicator, request);
}
int MPI_Imrecv_c(void* data, MPI_Count count, MPI_Datatype type, MPI_Message* message, MPI_Request* request) {
  ++large_calls;
  return PMPI_Imrecv_c(data, count, type, message, request);
}
int MPI_Ibcast_c(void* data, MPI_Count count, MPI_Datatype type, int root, MPI_Comm communicator,
                 MPI_Request* request) {
  ++large_calls;
  return PMPI_Ibcast_c(data, count, type, root, communicator, request);
}
int MPI_Iallgatherv_c(const void* sent, MPI_Count count, MPI_Datatype type, void* received, const MPI_Count counts[],
                      const MPI_Aint places[], MPI_Datatype received_type, MPI_Comm communicator,
                      MPI_Request* request) {
  ++large_calls;
  return PMPI_Iallgatherv_c(sent, count, type, received, counts, places, received_type, communicator, request);
}
}
#endif

namespace {

void check_calls(int expected) {
  check(large_calls.exchange(0) == (MPI_VERSION >= 4 ? expected : 0), "the calls that were made");
}

void messages(const Ranks& ranks) {
  const std::vector<int> sent(5, ranks.rank);
  std::vector<int> received(sent.size());
  const std::vector<int> expected(sent.size(), previous_of(ranks));
  const auto count = static_cast<Large>(sent.size());
  const auto arrived = [&](const char* what) {
    check(received == expected, what);
    received.assign(sent.size(), -1);
  };
  Runtime runtime(Options{.workers = 1});
  const auto cross = [&](auto receives, auto sends, const char* what) {
    runtime.spawn(receives);
    runtime.spawn(sends);
    runtime.wait();
    arrived(what);
  };
  const auto send = [&] { mpi::send(sent.data(), count, MPI_INT, next_of(ranks), 1, MPI_COMM_WORLD); };
  cross([&] { mpi::recv(received.data(), count, MPI_INT, previous_of(ranks), 1, MPI_COMM_WORLD); }, send, "recv");
  cross([&] { mpi::irecv(received.data(), static_cast<Large>(count), MPI_INT, previous_of(ranks), 1, MPI_COMM_WORLD); },
        [&] { mpi::isend(sent.data(), count, MPI_INT, next_of(ranks), 1, MPI_COMM_WORLD); }, "irecv");
  check_calls(4);
  cross([&] { mpi::irecv(received.data(), count, MPI_INT, previous_of(ranks), 1, MPI_COMM_WORLD); },
        [&] { mpi::ssend(sent.data(), count, MPI_INT, next_of(ranks), 1, MPI_COMM_WORLD); }, "ssend");
  cross([&] { mpi::irecv(received.data(), count, MPI_INT, previous_of(ranks), 1, MPI_COMM_WORLD); },
        [&] { mpi::issend(sent.data(), count, MPI_INT, next_of(ranks), 1, MPI_COMM_WORLD); }, "issend");
  check_calls(4);
  cross(
      [&] {
        MPI_Message message = mpi::mprobe(previous_of(ranks), 1, MPI_COMM_WORLD);
        mpi::mrecv(received.data(), count, MPI_INT, message);
      },
      send, "mrecv");
  cross(
      [&] {
        MPI_Message message = mpi::mprobe(previous_of(ranks), 1, MPI_COMM_WORLD);
        mpi::imrecv(received.data(), count, MPI_INT, message);
      },
      send, "imrecv");
  check_calls(4);
  runtime
      .spawn([&] {
        mpi::sendrecv(sent.data(), 5, MPI_INT, next_of(ranks), 1, received.data(), count, MPI_INT, previous_of(ranks),
                      1, MPI_COMM_WORLD);
      })
      .get();
  arrived("sendrecv");
  check_calls(2);
  // What fits an `int` is left as it is.
  cross([&] { mpi::irecv(received.data(), 5, MPI_INT, previous_of(ranks), 1, MPI_COMM_WORLD); },
        [&] { mpi::isend(sent.data(), short{5}, MPI_INT, next_of(ranks), 1, MPI_COMM_WORLD); }, "int");
  check_calls(0);
}

void collectives(const Ranks& ranks) {
  Runtime runtime(Options{.workers = 1});
  std::array<int, 3> data{ranks.rank, ranks.rank, ranks.rank};
  runtime.spawn([&] { mpi::bcast(data.data(), static_cast<Large>(data.size()), MPI_INT, 0, MPI_COMM_WORLD); }).get();
  check(data == std::array<int, 3>{}, "bcast");
  check_calls(1);
  runtime.spawn([&] { mpi::ibcast(data.data(), 3, MPI_INT, 0, MPI_COMM_WORLD); }).get();
  check_calls(0);
#if MPI_VERSION >= 4
  const auto size = static_cast<std::size_t>(ranks.size);
  const std::vector<MPI_Count> counts(size, 2);
  std::vector<MPI_Aint> places(size);
  std::vector<int> expected(2 * size);
  for (std::size_t i = 0; i < size; ++i) {
    places[i] = static_cast<MPI_Aint>(2 * i);
    expected[2 * i] = expected[2 * i + 1] = static_cast<int>(i);
  }
  const std::array<int, 2> mine{ranks.rank, ranks.rank};
  std::vector<int> all(2 * size);
  runtime
      .spawn([&] {
        mpi::allgatherv(mine.data(), mine.size(), MPI_INT, all.data(), counts.data(), places.data(), MPI_INT,
                        MPI_COMM_WORLD);
      })
      .get();
  check(all == expected, "allgatherv");
  check_calls(1);
#endif
}

}  // namespace

int main(int count, char** arguments) {
  const Ranks ranks(&count, &arguments);
  messages(ranks);
  collectives(ranks);
  return 0;
}
