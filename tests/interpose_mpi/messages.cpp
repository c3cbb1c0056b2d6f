// Messages of tasks between real ranks.
#include <array>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "interpose_mpi/ranks.hpp"

namespace {

using dovetail::in;
using dovetail::Options;
using dovetail::out;
using dovetail::Runtime;
using dovetail::test::check;
using dovetail::test::next_of;
using dovetail::test::previous_of;
using dovetail::test::Ranks;
namespace mpi = dovetail::mpi;

// Each task waits for a message that another task of this rank makes the neighbour send: with calls that hold their worker it would hang.
void more_wait_than_there_are_workers(const Ranks& ranks) {
  Runtime runtime(Options{.workers = 1});
  constexpr int tasks = 50;
  std::array<int, tasks> values{};
  for (int tag = 0; tag < tasks; ++tag) {
    runtime.spawn([&, tag] {
      mpi::recv(&values[static_cast<std::size_t>(tag)], 1, MPI_INT, previous_of(ranks), tag, MPI_COMM_WORLD);
    });
  }
  for (int tag = tasks - 1; tag >= 0; --tag) {
    runtime.spawn([&ranks, tag] {
      const int value = 1'000 * ranks.rank + tag;
      mpi::send(&value, 1, MPI_INT, next_of(ranks), tag, MPI_COMM_WORLD);
    });
  }
  runtime.wait();
  for (int tag = 0; tag < tasks; ++tag) {
    check(values[static_cast<std::size_t>(tag)] == 1'000 * previous_of(ranks) + tag, "a message went to another task");
  }
}

// What is received is there when a task that reads it begins, and what is sent may be overwritten when a task that writes it begins.
void bound_messages_are_accesses(const Ranks& ranks) {
  Runtime runtime(Options{.workers = 2});
  constexpr int rounds = 200;
  constexpr std::size_t numbers = 5'000;
  std::vector<int> sent(numbers);
  std::vector<int> received(numbers);
  for (int round = 0; round < rounds; ++round) {
    runtime.spawn({.label = "fill", .access = {out(sent)}},
                  [&, round] { std::iota(sent.begin(), sent.end(), round + ranks.rank); });
    runtime.spawn({.label = "send", .access = {in(sent)}}, [&, round] {
      mpi::isend(sent.data(), static_cast<int>(numbers), MPI_INT, next_of(ranks), round, MPI_COMM_WORLD);
    });
    runtime.spawn({.label = "receive", .access = {out(received)}}, [&, round] {
      mpi::irecv(received.data(), static_cast<int>(numbers), MPI_INT, previous_of(ranks), round, MPI_COMM_WORLD);
    });
    runtime.spawn({.label = "check", .access = {in(received)}}, [&, round] {
      check(received.front() == round + previous_of(ranks) &&
                received.back() == round + previous_of(ranks) + static_cast<int>(numbers) - 1,
            "a task read what had not been received");
    });
  }
  runtime.wait();
}

void requests_of_the_program(const Ranks& ranks) {
  Runtime runtime(Options{.workers = 2});
  constexpr std::size_t messages = 20;
  std::array<int, messages> values{};
  std::array<int, messages> own{};
  std::array<MPI_Status, messages> statuses{};
  std::array<MPI_Request, 2 * messages> requests;
  auto task = runtime.spawn([&] {
    for (std::size_t i = 0; i < messages; ++i) {
      own[i] = ranks.rank + static_cast<int>(i);
      MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, static_cast<int>(i), MPI_COMM_WORLD, &requests[i]);
      MPI_Isend(&own[i], 1, MPI_INT, next_of(ranks), static_cast<int>(i), MPI_COMM_WORLD, &requests[messages + i]);
    }
    mpi::iwaitall(std::span(requests).first<messages>(), statuses.data());
    mpi::waitall(std::span(requests).last<messages>());
    for (const MPI_Request& request : requests) {
      check(request == MPI_REQUEST_NULL, "a request was not taken over");
    }
  });
  task.get();
  for (std::size_t i = 0; i < messages; ++i) {
    int count = 0;
    MPI_Get_count(&statuses[i], MPI_INT, &count);
    check(values[i] == previous_of(ranks) + static_cast<int>(i) && statuses[i].MPI_SOURCE == previous_of(ranks) &&
              statuses[i].MPI_TAG == static_cast<int>(i) && count == 1,
          "a status is wrong");
  }
}

void collectives(const Ranks& ranks) {
  Runtime runtime(Options{.workers = 2});
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  int sum = 0;
  int root = ranks.rank;
  int largest = 0;
  // Two at once, on communicators of their own.
  runtime.spawn([&] {
    mpi::allreduce(&ranks.rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    mpi::barrier(MPI_COMM_WORLD);
  });
  runtime.spawn([&] {
    mpi::bcast(&root, 1, MPI_INT, ranks.size - 1, other);
    mpi::ireduce(&ranks.rank, &largest, 1, MPI_INT, MPI_MAX, 0, other);
  });
  runtime.wait();
  check(sum == ranks.size * (ranks.size - 1) / 2, "the sum is wrong");
  check(root == ranks.size - 1, "the value of the root is wrong");
  check(ranks.rank != 0 || largest == ranks.size - 1, "the largest is wrong");
  MPI_Comm_free(&other);
}

// `communicator`: with MPI's default handler, which ends the program, or another one.
void too_long_a_message(const Ranks& ranks, MPI_Comm returns) {
  Runtime runtime(Options{.workers = 1});
  const std::array<int, 4> four{};
  int one = 0;
  runtime.spawn([&] { mpi::isend(four.data(), 4, MPI_INT, next_of(ranks), 9, returns); });
  auto waits = runtime.spawn([&] {
    try {
      mpi::recv(&one, 1, MPI_INT, previous_of(ranks), 9, returns);
      check(false, "a message that is too long was received");
    } catch (const mpi::Error& error) {
      const std::string what = error.what();
      check(error.error_class() == MPI_ERR_TRUNCATE && error.peer() == previous_of(ranks) && error.tag() == 9 &&
                what.find("MPI_Recv from rank " + std::to_string(previous_of(ranks)) + " with tag 9") == 0,
            "the error does not say what it was: " + what);
    }
  });
  waits.get();
  auto wrong = runtime.spawn({.label = "to nobody"}, [&] { mpi::isend(&one, 1, MPI_INT, 12'345, 0, returns); });
  try {
    wrong.get();
    check(false, "a message to no rank was sent");
  } catch (const dovetail::TaskFailed& failed) {
    check(std::string(failed.what()).find("to rank 12345") != std::string::npos, failed.what());
  }
  runtime.wait();
}

// No message has a tag below 0, except those that MPI has names for.
void wrong_tags(const Ranks& ranks, MPI_Comm returns) {
  Runtime runtime(Options{.workers = 1});
  int one = 0;
  const std::string with_tag = std::to_string(next_of(ranks)) + " with tag -5";
  auto sends = runtime.spawn([&] { mpi::isend(&one, 1, MPI_INT, next_of(ranks), -5, returns); });
  auto receives = runtime.spawn([&] { mpi::recv(&one, 1, MPI_INT, next_of(ranks), -5, returns); });
  for (const auto& [task, text] :
       {std::pair{&sends, "MPI_Isend to rank " + with_tag}, std::pair{&receives, "MPI_Recv from rank " + with_tag}}) {
    try {
      task->get();
      check(false, "a message has a tag below 0");
    } catch (const std::exception& error) {
      check(std::string(error.what()).find(text) != std::string::npos, error.what());
    }
  }
}

void errors(const Ranks& ranks) {
  too_long_a_message(ranks, MPI_COMM_WORLD);
  wrong_tags(ranks, MPI_COMM_WORLD);
  MPI_Comm returns;
  MPI_Comm_dup(MPI_COMM_WORLD, &returns);
  MPI_Comm_set_errhandler(returns, MPI_ERRORS_RETURN);
  too_long_a_message(ranks, returns);
  wrong_tags(ranks, returns);
  MPI_Comm_free(&returns);
  MPI_Comm fatal;
  MPI_Comm_dup(MPI_COMM_WORLD, &fatal);
  MPI_Comm_set_errhandler(fatal, MPI_ERRORS_ARE_FATAL);
  too_long_a_message(ranks, fatal);
  wrong_tags(ranks, fatal);
  MPI_Comm_free(&fatal);
}

// What a task does by MPI itself comes after what it has bound, also where other threads are in MPI meanwhile.
void bound_and_own_calls_keep_their_order(const Ranks& ranks) {
  Runtime runtime(Options{.workers = 3});
  constexpr int tasks = 200;
  std::vector<std::array<int, 2>> received(tasks);
  std::vector<std::array<int, 2>> sent(tasks);
  for (int tag = 0; tag < tasks; ++tag) {
    runtime.spawn([&, tag] {
      auto& values = received[static_cast<std::size_t>(tag)];
      MPI_Request request;
      mpi::irecv(&values[0], 1, MPI_INT, previous_of(ranks), tag, MPI_COMM_WORLD);
      MPI_Irecv(&values[1], 1, MPI_INT, previous_of(ranks), tag, MPI_COMM_WORLD, &request);
      mpi::iwait(request);
    });
    runtime.spawn([&, tag] {
      auto& values = sent[static_cast<std::size_t>(tag)];
      values = {2 * tag, 2 * tag + 1};
      MPI_Request request;
      MPI_Datatype type;
      MPI_Type_contiguous(1, MPI_INT, &type);
      MPI_Type_commit(&type);
      mpi::isend(&values[0], 1, type, next_of(ranks), tag, MPI_COMM_WORLD);
      MPI_Type_free(&type);
      MPI_Isend(&values[1], 1, MPI_INT, next_of(ranks), tag, MPI_COMM_WORLD, &request);
      mpi::iwait(request);
    });
  }
  runtime.wait();
  for (int tag = 0; tag < tasks; ++tag) {
    check(received[static_cast<std::size_t>(tag)] == std::array<int, 2>{2 * tag, 2 * tag + 1},
          "a bound message was overtaken");
  }
}

// Each has an engine; the library is one.
void two_runtimes(const Ranks& ranks) {
  Runtime one(Options{.workers = 2});
  Runtime two(Options{.workers = 2});
  constexpr int tasks = 100;
  std::array<int, tasks> values{};
  for (int tag = 0; tag < tasks; ++tag) {
    one.spawn([&, tag] {
      mpi::recv(&values[static_cast<std::size_t>(tag)], 1, MPI_INT, previous_of(ranks), tag, MPI_COMM_WORLD);
    });
    two.spawn([&, tag] { mpi::ssend(&tag, 1, MPI_INT, next_of(ranks), tag, MPI_COMM_WORLD); });
  }
  one.wait();
  two.wait();
  for (int tag = 0; tag < tasks; ++tag) {
    check(values[static_cast<std::size_t>(tag)] == tag, "a message between two runtimes");
  }
}

void many_outstanding(const Ranks& ranks) {
  Runtime runtime(Options{.workers = 2});
  constexpr std::size_t messages = 10'000;
  std::vector<int> values(messages);
  std::vector<int> own(messages);
  for (std::size_t i = 0; i < messages; ++i) {
    runtime.spawn(
        [&, i] { mpi::irecv(&values[i], 1, MPI_INT, previous_of(ranks), static_cast<int>(i), MPI_COMM_WORLD); });
  }
  for (std::size_t i = messages; i-- > 0;) {
    runtime.spawn([&, i] {
      own[i] = ranks.rank + static_cast<int>(i);
      mpi::isend(&own[i], 1, MPI_INT, next_of(ranks), static_cast<int>(i), MPI_COMM_WORLD);
    });
  }
  runtime.wait();
  for (std::size_t i = 0; i < messages; ++i) {
    check(values[i] == previous_of(ranks) + static_cast<int>(i), "one of many messages is wrong");
  }
}

}  // namespace

int main(int count, char** arguments) {
  const Ranks ranks(&count, &arguments);
  more_wait_than_there_are_workers(ranks);
  bound_messages_are_accesses(ranks);
  requests_of_the_program(ranks);
  collectives(ranks);
  errors(ranks);
  bound_and_own_calls_keep_their_order(ranks);
  two_runtimes(ranks);
  many_outstanding(ranks);
  return 0;
}
