// Many messages at once, large ones, and what MPI allows while they are under way.
#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "interpose_mpi/ranks.hpp"

namespace {

using dovetail::inout;
using dovetail::Options;
using dovetail::Runtime;
using dovetail::test::check;
using dovetail::test::next_of;
using dovetail::test::previous_of;
using dovetail::test::Ranks;
namespace mpi = dovetail::mpi;

// All are waited for, by one task, before the first is sent. They go in one order and few at a time: MPI looks for
// the receive of a message in a list. Open MPI looks at all sends that it has not begun, again and again.
void a_hundred_thousand_requests(const Ranks& ranks) {
  constexpr int messages = 100'000;
  constexpr int in_a_task = 100;
  Runtime runtime(Options{.workers = 1});
  std::vector<int> values(messages, -1);
  std::promise<void> begun;
  runtime.spawn([&] {
    for (int i = 0; i < messages; ++i) {
      mpi::irecv(&values[static_cast<std::size_t>(i)], 1, MPI_INT, previous_of(ranks), i % 30'000, MPI_COMM_WORLD);
    }
    begun.set_value();
  });
  begun.get_future().wait();
  MPI_Barrier(MPI_COMM_WORLD);
  int first_of_all = 0;
  for (int first = 0; first < messages; first += in_a_task) {
    runtime.spawn({.access = {inout(first_of_all)}}, [&ranks, first] {
      std::array<int, in_a_task> sent;
      std::array<MPI_Request, in_a_task> requests;
      for (int i = 0; i < in_a_task; ++i) {
        sent[static_cast<std::size_t>(i)] = first % 30'000 + i;
        MPI_Isend(&sent[static_cast<std::size_t>(i)], 1, MPI_INT, next_of(ranks), first % 30'000 + i, MPI_COMM_WORLD,
                  &requests[static_cast<std::size_t>(i)]);
      }
      mpi::waitall(requests);
    });
  }
  runtime.wait();
  for (int i = 0; i < messages; ++i) {
    check(values[static_cast<std::size_t>(i)] == i % 30'000, "message " + std::to_string(i) + " has another's value");
  }
}

// Each source is told by the status. All receives are alike, so any of them takes any message.
void from_any_rank(const Ranks& ranks) {
  constexpr int messages = 50;
  Runtime runtime(Options{.workers = 1});
  const auto all = static_cast<std::size_t>(messages * ranks.size);
  std::vector<int> values(all, -1);
  std::vector<MPI_Status> statuses(all);
  for (std::size_t i = 0; i < all; ++i) {
    runtime.spawn(
        [&, i] { mpi::recv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &statuses[i]); });
  }
  for (int to = 0; to < ranks.size; ++to) {
    for (int tag = 0; tag < messages; ++tag) {
      runtime.spawn([&ranks, to, tag] {
        const int value = ranks.rank * messages + tag;
        mpi::send(&value, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
      });
    }
  }
  runtime.wait();
  for (std::size_t i = 0; i < all; ++i) {
    check(values[i] == statuses[i].MPI_SOURCE * messages + statuses[i].MPI_TAG, "a status is another message's");
  }
  std::ranges::sort(values);
  for (std::size_t i = 0; i < all; ++i) {
    check(values[i] == static_cast<int>(i), "a message came twice, or never");
  }
}

// MPI keeps a communicator and a type until what uses them has ended.
void freed_while_used(const Ranks& ranks) {
  Runtime runtime(Options{.workers = 1});
  constexpr std::size_t numbers = 100;
  std::array<int, numbers> received{};
  std::array<int, numbers> sent{};
  sent.fill(ranks.rank);
  auto task = runtime.spawn([&] {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(numbers), MPI_INT, &type);
    MPI_Type_commit(&type);
    mpi::irecv(received.data(), 1, type, previous_of(ranks), 0, copy);
    mpi::isend(sent.data(), 1, type, next_of(ranks), 0, copy);
    MPI_Type_free(&type);
    MPI_Comm_free(&copy);
  });
  task.get();
  check(std::ranges::all_of(received, [&](int value) { return value == previous_of(ranks); }),
        "what used a communicator that was freed has not come");
}

// Above 2 GiB, as so many elements of 1 MiB. One rank sends, so that memory suffices. False: there is not so much memory.
bool a_large_message(const Ranks& ranks) {
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  constexpr int elements = 2'049;
  const std::unique_ptr<unsigned char, void (*)(void*)> data(
      static_cast<unsigned char*>(std::calloc(elements, mebibyte)), &std::free);
  if (!data) {
    std::fprintf(stderr, "rank %d: no memory for a message of 2 GiB: not tried\n", ranks.rank);
  }
  int possible = data ? 1 : 0;
  int other = 0;
  MPI_Sendrecv(&possible, 1, MPI_INT, 1 - ranks.rank, 1, &other, 1, MPI_INT, 1 - ranks.rank, 1, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  if (possible + other < 2) {
    return false;
  }
  const auto marked = {std::size_t{0}, mebibyte, std::size_t{1} << 31, elements * mebibyte - 1};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(static_cast<int>(mebibyte), MPI_BYTE, &type);
  MPI_Type_commit(&type);
  Runtime runtime(Options{.workers = 1});
  if (ranks.rank == 0) {
    for (const std::size_t at : marked) {
      data.get()[at] = static_cast<unsigned char>(1 + at % 200);
    }
    runtime.spawn([&] { mpi::isend(data.get(), elements, type, 1, 0, MPI_COMM_WORLD); }).get();
  } else {
    runtime.spawn([&] { mpi::recv(data.get(), elements, type, 0, 0, MPI_COMM_WORLD); }).get();
    for (const std::size_t at : marked) {
      check(data.get()[at] == 1 + at % 200, "byte " + std::to_string(at) + " of a large message is wrong");
    }
  }
  MPI_Type_free(&type);
  return true;
}

#if MPI_VERSION >= 4
// The same by a number that is no `int`.
void a_large_count(const Ranks& ranks) {
  constexpr std::size_t bytes = (std::size_t{1} << 31) + 5;
  const std::unique_ptr<unsigned char, void (*)(void*)> data(static_cast<unsigned char*>(std::calloc(bytes, 1)),
                                                             &std::free);
  Runtime runtime(Options{.workers = 1});
  if (ranks.rank == 0) {
    data.get()[bytes - 1] = 7;
    runtime.spawn([&] { mpi::isend(data.get(), bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD); }).get();
  } else {
    MPI_Status status;
    runtime.spawn([&] { mpi::recv(data.get(), bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &status); }).get();
    MPI_Count count = 0;
    MPI_Get_count_c(&status, MPI_BYTE, &count);
    check(count == static_cast<MPI_Count>(bytes) && data.get()[bytes - 1] == 7, "a message with a large count");
  }
}
#endif

}  // namespace

int main(int count, char** arguments) {
  const Ranks ranks(&count, &arguments);
  from_any_rank(ranks);
  freed_while_used(ranks);
  a_hundred_thousand_requests(ranks);
  if (!a_large_message(ranks)) {
    return 77;
  }
#if MPI_VERSION >= 4
  a_large_count(ranks);
#endif
  return 0;
}
