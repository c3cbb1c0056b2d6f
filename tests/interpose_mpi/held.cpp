// Calls of MPI that have no form with a request, in tasks: one worker, which runs other tasks while another thread is held.
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "dovetail/dovetail.hpp"
#include "interpose_mpi/beside.hpp"
#include "interpose_mpi/ranks.hpp"

namespace {

using dovetail::Options;
using dovetail::Runtime;
using dovetail::test::beside_another_task;
using dovetail::test::check;
using dovetail::test::next_of;
using dovetail::test::previous_of;
using dovetail::test::Ranks;

int sum_over(MPI_Comm communicator) {
  int rank = 0;
  int sum = 0;
  MPI_Comm_rank(communicator, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, communicator);
  return sum;
}

void communicators(const Ranks& ranks) {
  const int sum = ranks.size * (ranks.size - 1) / 2;
  MPI_Comm made = MPI_COMM_NULL;
  beside_another_task(ranks, [&] { MPI_Comm_dup(MPI_COMM_WORLD, &made); });
  check(sum_over(made) == sum, "MPI_Comm_dup");
  MPI_Comm part = MPI_COMM_NULL;
  beside_another_task(ranks, [&] { MPI_Comm_split(made, 0, ranks.size - ranks.rank, &part); });
  int place = -1;
  MPI_Comm_rank(part, &place);
  check(place == ranks.size - 1 - ranks.rank, "MPI_Comm_split");
  MPI_Comm node = MPI_COMM_NULL;
  beside_another_task(ranks, [&] { MPI_Comm_split_type(made, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node); });
  check(sum_over(node) == sum, "MPI_Comm_split_type");
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(made, &group);
  MPI_Comm grouped = MPI_COMM_NULL;
  MPI_Comm created = MPI_COMM_NULL;
  beside_another_task(ranks, [&] { MPI_Comm_create(made, group, &created); });
  beside_another_task(ranks, [&] { MPI_Comm_create_group(made, group, 5, &grouped); });
  check(sum_over(created) == sum && sum_over(grouped) == sum, "MPI_Comm_create and MPI_Comm_create_group");
  MPI_Group_free(&group);
  for (MPI_Comm* communicator : {&part, &node, &created, &grouped, &made}) {
    beside_another_task(ranks, [&] {
      MPI_Comm_free(communicator);
      MPI_Barrier(MPI_COMM_WORLD);
    });
    check(*communicator == MPI_COMM_NULL, "MPI_Comm_free");
  }
}

void intercommunicators(const Ranks& ranks) {
  if (ranks.size < 2) {
    return;
  }
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, ranks.rank % 2, ranks.rank, &half);
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Comm merged = MPI_COMM_NULL;
  beside_another_task(ranks, [&] { MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - ranks.rank % 2, 6, &both); });
  beside_another_task(ranks, [&] { MPI_Intercomm_merge(both, ranks.rank % 2, &merged); });
  int size = 0;
  MPI_Comm_size(merged, &size);
  check(size == ranks.size, "MPI_Intercomm_merge");
  MPI_Comm_free(&merged);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

// With the memory that it lends: Open MPI has no window for other memory where messages between processes may not be copied at once.
MPI_Win window_of_one(int** memory) {
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, static_cast<void*>(memory), &window);
  return window;
}

// Debian's MPICH 4.0 loses what is put, in the simplest program: then the tests look only at whether calls end.
bool puts_arrive(const Ranks& ranks) {
  int* memory = nullptr;
  const int put = 1;
  MPI_Win window = window_of_one(&memory);
  *memory = 0;
  MPI_Win_fence(0, window);
  MPI_Put(&put, 1, MPI_INT, next_of(ranks), 0, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  int arrived = 0;
  MPI_Allreduce(memory, &arrived, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Win_free(&window);
  return arrived == 1;
}

void windows(const Ranks& ranks, bool compared) {
  int* memory = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  beside_another_task(ranks, [&] { window = window_of_one(&memory); });
  *memory = -1;
  beside_another_task(ranks, [&] { MPI_Win_fence(0, window); });
  const int put = 100 + ranks.rank;
  beside_another_task(ranks, [&] {
    MPI_Put(&put, 1, MPI_INT, next_of(ranks), 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
  });
  check(!compared || *memory == 100 + previous_of(ranks), "MPI_Win_fence");
  MPI_Barrier(MPI_COMM_WORLD);
  int got = -1;
  {
    Runtime runtime(Options{.workers = 1});
    runtime.spawn([&] {
      MPI_Win_lock(MPI_LOCK_SHARED, next_of(ranks), 0, window);
      MPI_Get(&got, 1, MPI_INT, next_of(ranks), 0, 1, MPI_INT, window);
      MPI_Win_flush(next_of(ranks), window);
      check(!compared || got == put, "MPI_Win_flush");
      MPI_Win_unlock(next_of(ranks), window);
    });
    runtime.wait();
  }
  beside_another_task(ranks, [&] { MPI_Win_free(&window); });
  check(window == MPI_WIN_NULL, "MPI_Win_free");
}

// More tasks than executors are, each in a call of its own, in another order in each rank: none may wait in a queue for another.
void more_calls_than_threads(const Ranks& ranks, bool compared) {
  constexpr std::size_t tasks = 12;
  std::array<MPI_Win, tasks> windows;
  std::array<int*, tasks> memory{};
  for (std::size_t i = 0; i < tasks; ++i) {
    windows[i] = window_of_one(&memory[i]);
    MPI_Win_fence(0, windows[i]);
  }
  {
    Runtime runtime(Options{.workers = 1, .io_executors = 2});
    for (std::size_t i = 0; i < tasks; ++i) {
      const std::size_t place = ranks.rank % 2 == 0 ? i : tasks - 1 - i;
      runtime.spawn([&, place] {
        const int value = static_cast<int>(place) + ranks.rank;
        MPI_Put(&value, 1, MPI_INT, next_of(ranks), 0, 1, MPI_INT, windows[place]);
        MPI_Win_fence(0, windows[place]);
      });
    }
    runtime.wait();
  }
  for (std::size_t i = 0; i < tasks; ++i) {
    check(!compared || *memory[i] == static_cast<int>(i) + previous_of(ranks), "one of many windows");
    MPI_Win_free(&windows[i]);
  }
}

// What is sent and what comes have the same place; all ranks are in this one at once, with messages that MPI does not keep for long.
void replaced_in_place(const Ranks& ranks) {
  constexpr int numbers = 200'000;
  Runtime runtime(Options{.workers = 1});
  std::array<std::vector<int>, 4> data;
  for (int tag = 0; tag < 4; ++tag) {
    runtime.spawn([&, tag] {
      std::vector<int>& mine = data[static_cast<std::size_t>(tag)];
      mine.resize(numbers);
      std::iota(mine.begin(), mine.end(), 10 * ranks.rank + tag);
      MPI_Status status;
      const int code = MPI_Sendrecv_replace(mine.data(), numbers, MPI_INT, next_of(ranks), tag, previous_of(ranks), tag,
                                            MPI_COMM_WORLD, &status);
      check(code == MPI_SUCCESS && status.MPI_SOURCE == previous_of(ranks) && status.MPI_TAG == tag,
            "the status of MPI_Sendrecv_replace");
    });
  }
  runtime.wait();
  for (int tag = 0; tag < 4; ++tag) {
    std::vector<int> expected(numbers);
    std::iota(expected.begin(), expected.end(), 10 * previous_of(ranks) + tag);
    check(data[static_cast<std::size_t>(tag)] == expected, "MPI_Sendrecv_replace");
  }
}

// An error is the task's, though the communicator has the handler that ends the program; and so it is in an I/O task, whose own thread is held.
void errors(const Ranks& /*ranks*/) {
  Runtime runtime(Options{.workers = 1});
  const auto fails = [] {
    MPI_Win window = MPI_WIN_NULL;
    const int code = MPI_Win_create(nullptr, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    check(code != MPI_SUCCESS, "MPI_Win_create has taken a size below 0");
  };
  runtime.spawn(fails).get();
  runtime.spawn({.io = true}, fails).get();
}

// Windows have MPI's default handler, which ends the program, whatever their communicator has.
void errors_of_windows(const Ranks& ranks) {
  int* memory = nullptr;
  MPI_Win window = window_of_one(&memory);
  const auto check_rank = [](int code, const char* call) {
    int its_class = MPI_SUCCESS;
    MPI_Error_class(code, &its_class);
    check(its_class == MPI_ERR_RANK, std::string(call) + " takes a rank that is not there");
  };
  Runtime runtime(Options{.workers = 1});
  runtime
      .spawn([&] {
        const int put = 1;
        check_rank(MPI_Win_lock(MPI_LOCK_SHARED, ranks.size + 3, 0, window), "MPI_Win_lock");
        MPI_Win_lock(MPI_LOCK_SHARED, next_of(ranks), 0, window);
        check_rank(MPI_Put(&put, 1, MPI_INT, ranks.size + 3, 0, 1, MPI_INT, window), "MPI_Put");
        MPI_Win_unlock(next_of(ranks), window);
      })
      .get();
  MPI_Win_free(&window);
}

// What tasks wait for besides: another task runs meanwhile.
void buffers(const Ranks& ranks) {
  // Too large for MPI to keep: the buffer is free when the other rank has begun to receive.
  constexpr int numbers = 500'000;
  const std::vector<int> sent(numbers, ranks.rank);
  std::vector<int> received(numbers, -1);
  std::vector<char> room(numbers * sizeof(int) + MPI_BSEND_OVERHEAD);
  Runtime runtime(Options{.workers = 1});
  MPI_Buffer_attach(room.data(), static_cast<int>(room.size()));
  runtime.spawn([&] {
    MPI_Bsend(sent.data(), numbers, MPI_INT, next_of(ranks), 8, MPI_COMM_WORLD);
    void* given = nullptr;
    int size = 0;
    MPI_Buffer_detach(static_cast<void*>(&given), &size);
    check(given == room.data() && size == static_cast<int>(room.size()), "MPI_Buffer_detach");
  });
  runtime.spawn(
      [&] { MPI_Recv(received.data(), numbers, MPI_INT, previous_of(ranks), 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
  runtime.wait();
  check(received == std::vector<int>(numbers, previous_of(ranks)), "a message that was kept in a buffer");
}

}  // namespace

int main(int count, char** arguments) {
  const Ranks ranks(&count, &arguments);
  communicators(ranks);
  intercommunicators(ranks);
  const bool compared = puts_arrive(ranks);
  windows(ranks, compared);
  more_calls_than_threads(ranks, compared);
  replaced_in_place(ranks);
  errors(ranks);
  errors_of_windows(ranks);
  buffers(ranks);
  return 0;
}
