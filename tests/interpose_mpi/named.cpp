// Requests that the program starts by itself, in tasks and outside: reports and errors name the call, rank, tag and communicator of each. One worker.
#include <array>
#include <functional>
#include <string>
#include <thread>

#include "dovetail/dovetail.hpp"
#include "interpose_mpi/ranks.hpp"
#include "mpi/standard_error.hpp"

namespace {

namespace mpi = dovetail::mpi;
using dovetail::Options;
using dovetail::Runtime;
using dovetail::test::check;
using dovetail::test::next_of;
using dovetail::test::previous_of;
using dovetail::test::Ranks;

// What the report says of a task that waits in `waits`. `ends` makes it go on.
std::string reported(const std::function<void()>& waits, const std::function<void()>& ends) {
  dovetail::test::StandardError error;
  {
    Runtime runtime(Options{.workers = 1, .report_after = std::chrono::milliseconds(30)});
    auto waiting = runtime.spawn({.label = "halo"}, waits);
    std::thread ender([&] {
      error.wait_for("halo");
      ends();
    });
    waiting.get();
    ender.join();
  }
  return error.end();
}

void check_report(const std::string& said, const std::string& expected) {
  check(said.find(expected) != std::string::npos, "the report says \"" + said + "\" and not \"" + expected + '"');
}

std::string from(int rank, int tag, const char* call = "MPI_Irecv") {
  return std::string(call) + " from rank " + std::to_string(rank) + " with tag " + std::to_string(tag) +
         " in MPI_COMM_WORLD";
}

// A rank sends to itself, so what has come is known.
void reports(const Ranks& ranks) {
  std::array<int, 3> values{};
  std::array<MPI_Request, 3> all{};
  const auto receive = [&](int tag) {
    MPI_Irecv(&values[static_cast<std::size_t>(tag - 5)], 1, MPI_INT, ranks.rank, tag, MPI_COMM_WORLD,
              &all[static_cast<std::size_t>(tag - 5)]);
  };
  const auto send = [&](int tag) { MPI_Send(&tag, 1, MPI_INT, ranks.rank, tag, MPI_COMM_WORLD); };
  const auto send_all = [&] {
    for (const int tag : {5, 6, 7}) {
      send(tag);
    }
  };
  const auto start = [&] {
    for (const int tag : {5, 6, 7}) {
      receive(tag);
    }
  };
  check_report(reported(
                   [&] {
                     start();
                     send(5);
                     MPI_Waitall(3, all.data(), MPI_STATUSES_IGNORE);
                   },
                   [&] {
                     send(6);
                     send(7);
                   }),
               "MPI_Waitall for " + from(ranks.rank, 6) + " and 1 other");
  check_report(reported(
                   [&] {
                     start();
                     int which = 0;
                     MPI_Waitany(3, all.data(), &which, MPI_STATUS_IGNORE);
                     MPI_Waitall(3, all.data(), MPI_STATUSES_IGNORE);
                   },
                   send_all),
               "MPI_Waitany for " + from(ranks.rank, 5) + " and 2 others");
  check_report(reported(
                   [&] {
                     start();
                     int ended = 0;
                     std::array<int, 3> which{};
                     MPI_Waitsome(3, all.data(), &ended, which.data(), MPI_STATUSES_IGNORE);
                     MPI_Waitall(3, all.data(), MPI_STATUSES_IGNORE);
                   },
                   send_all),
               "MPI_Waitsome for " + from(ranks.rank, 5) + " and 2 others");
  // Begun outside of tasks.
  receive(7);
  check_report(reported([&] { MPI_Wait(&all[2], MPI_STATUS_IGNORE); }, [&] { send(7); }),
               "MPI_Wait for " + from(ranks.rank, 7));
  receive(7);
  check_report(reported([&] { mpi::iwait(all[2]); }, [&] { send(7); }), from(ranks.rank, 7));
  // A handle is used again by calls of other kinds.
  MPI_Request persistent;
  MPI_Recv_init(values.data(), 1, MPI_INT, ranks.rank, 8, MPI_COMM_WORLD, &persistent);
  for (int round = 0; round < 2; ++round) {
    check_report(reported(
                     [&] {
                       MPI_Start(&persistent);
                       MPI_Wait(&persistent, MPI_STATUS_IGNORE);
                     },
                     [&] { send(8); }),
                 "MPI_Wait for " + from(ranks.rank, 8, "MPI_Recv_init"));
  }
  check_report(reported([&] { mpi::start(persistent); }, [&] { send(8); }), from(ranks.rank, 8, "MPI_Recv_init"));
  MPI_Request_free(&persistent);
}

// The other ranks come to it when this one's report has been made.
void collective(const Ranks& ranks) {
  if (ranks.rank != 0) {
    MPI_Recv(nullptr, 0, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Request barrier;
    MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
    return;
  }
  check_report(reported(
                   [&] {
                     MPI_Request barrier;
                     MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
                     MPI_Wait(&barrier, MPI_STATUS_IGNORE);
                   },
                   [&] {
                     for (int rank = 1; rank < ranks.size; ++rank) {
                       MPI_Send(nullptr, 0, MPI_INT, rank, 9, MPI_COMM_WORLD);
                     }
                   }),
               "MPI_Wait for MPI_Ibarrier in MPI_COMM_WORLD");
}

// A message that is too long. Each rank gets one, and sends one.
template <class Call>
void check_failure(const Ranks& ranks, int tag, Call&& waits) {
  const auto check_error = [&](const mpi::Error& error) {
    const std::string expected = from(previous_of(ranks), tag) + ": ";
    check(std::string(error.what()).starts_with(expected), std::string(error.what()) + " is not " + expected);
    check(error.call() == "MPI_Irecv" && error.peer() == previous_of(ranks) && error.tag() == tag &&
              error.error_class() == MPI_ERR_TRUNCATE,
          "what an error has besides its text");
  };
  Runtime runtime(Options{.workers = 1});
  int value = 0;
  auto failing = runtime.spawn([&] {
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, previous_of(ranks), tag, MPI_COMM_WORLD, &request);
    try {
      waits(request);
    } catch (const mpi::Error& error) {
      check_error(error);
      throw;
    }
  });
  const std::array<int, 2> sent{};
  runtime.spawn([&] { MPI_Send(sent.data(), 2, MPI_INT, next_of(ranks), tag, MPI_COMM_WORLD); });
  try {
    failing.get();
    check(false, "a message that is too long was received");
  } catch (const dovetail::TaskFailed& failure) {
    try {
      std::rethrow_exception(failure.cause());
    } catch (const mpi::Error& error) {
      check_error(error);
    }
  }
}

void errors(const Ranks& ranks) {
  check_failure(ranks, 10, [](MPI_Request& request) { mpi::iwait(request); });
  check_failure(ranks, 11, [](MPI_Request& request) { mpi::wait(request); });
  check_failure(ranks, 12, [](MPI_Request& request) {
    std::array<MPI_Request, 2> two{MPI_REQUEST_NULL, request};
    mpi::waitany(two);
  });
}

}  // namespace

int main(int count, char** arguments) {
  const Ranks ranks(&count, &arguments);
  const Runtime started(Options{.workers = 1});  // in each rank: from now on its calls are noted
  reports(ranks);
  if (ranks.size > 1) {
    collective(ranks);
    errors(ranks);  // Open MPI 4.1 does not tell that it has cut a message of a rank to itself
  }
  return 0;
}
