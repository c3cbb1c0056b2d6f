// A program whose messages are known, for traced_test.py: what it is to do is its argument.
#include <time.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
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

constexpr int rounds = 3;

// Rounds of one message around a ring, with one tag: round k's message is received in round k. `receive` takes the number.
template <class Send, class Receive>
void around(Runtime& runtime, const std::string& name, const Send& send, const Receive& receive) {
  static std::array<int, rounds> sent;
  static std::array<int, rounds> received;
  received.fill(-1);
  int sends = 0;
  int receives = 0;
  for (int round = 0; round < rounds; ++round) {
    const auto place = static_cast<std::size_t>(round);
    sent[place] = round;
    const std::string number = " " + std::to_string(round);
    runtime.spawn({.label = name + " receives" + number, .access = {inout(receives)}},
                  [&, place] { receive(&received[place]); });
    runtime.spawn({.label = name + " sends" + number, .access = {inout(sends)}}, [&, place] { send(&sent[place]); });
  }
  runtime.wait();
  check(received == sent, name + ": messages overtake each other");
}

void send_around(Runtime& runtime, const Ranks& ranks) {
  const int next = next_of(ranks);
  const int previous = previous_of(ranks);
  around(
      runtime, "waiting", [&](const int* number) { mpi::send(number, 1, MPI_INT, next, 1, MPI_COMM_WORLD); },
      [&](int* number) { mpi::recv(number, 1, MPI_INT, previous, 1, MPI_COMM_WORLD); });
  around(
      runtime, "bound", [&](const int* number) { mpi::isend(number, 1, MPI_INT, next, 2, MPI_COMM_WORLD); },
      [&](int* number) { mpi::irecv(number, 1, MPI_INT, previous, 2, MPI_COMM_WORLD); });
  around(
      runtime, "unmodified", [&](const int* number) { MPI_Ssend(number, 1, MPI_INT, next, 3, MPI_COMM_WORLD); },
      [&](int* number) { MPI_Recv(number, 1, MPI_INT, previous, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
  around(
      runtime, "started, bound",
      [&](const int* number) {
        MPI_Request request;
        MPI_Isend(number, 1, MPI_INT, next, 21, MPI_COMM_WORLD, &request);
        mpi::iwait(request);
      },
      [&](int* number) {
        MPI_Request request;
        MPI_Irecv(number, 1, MPI_INT, previous, 21, MPI_COMM_WORLD, &request);
        mpi::iwait(request);
      });
  around(
      runtime, "started, waited for",
      [&](const int* number) {
        MPI_Request request;
        MPI_Issend(number, 1, MPI_INT, next, 22, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      },
      [&](int* number) {
        MPI_Request request;
        MPI_Irecv(number, 1, MPI_INT, MPI_ANY_SOURCE, 22, MPI_COMM_WORLD, &request);
        MPI_Status status;
        MPI_Wait(&request, &status);
        check(status.MPI_SOURCE == previous && status.MPI_TAG == 22, "the status of another message");
      });
  around(
      runtime, "started, any of them",
      [&](const int* number) {
        MPI_Request request;
        MPI_Isend(number, 1, MPI_INT, next, 23, MPI_COMM_WORLD, &request);
        mpi::wait(request);
      },
      [&](int* number) {
        MPI_Request request;
        MPI_Irecv(number, 1, MPI_INT, MPI_ANY_SOURCE, 23, MPI_COMM_WORLD, &request);
        check(mpi::waitany(std::span(&request, 1)) == 0, "another request has ended");
      });
  // Ranks in the opposite order, so that they have other numbers there. Twice: the two are told apart.
  for (const char* name : {"first", "second"}) {
    MPI_Comm turned;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -ranks.rank, &turned);
    around(
        runtime, name, [&](const int* number) { mpi::send(number, 1, MPI_INT, ranks.size - 1 - next, 1, turned); },
        [&](int* number) { mpi::recv(number, 1, MPI_INT, ranks.size - 1 - previous, 1, turned); });
    MPI_Comm_free(&turned);
  }
}

// Several requests at once: each is its own message.
void send_several(Runtime& runtime, const Ranks& ranks) {
  constexpr int first_tag = 31;
  constexpr int several = 3;
  std::array<int, several> received{};
  const auto start_all = [&](std::array<MPI_Request, 2 * several>& requests) {
    for (int i = 0; i < several; ++i) {
      const auto place = static_cast<std::size_t>(i);
      MPI_Irecv(&received[place], 1, MPI_INT, previous_of(ranks), first_tag + i, MPI_COMM_WORLD, &requests[place]);
    }
    for (int i = several - 1; i >= 0; --i) {
      MPI_Isend(&ranks.rank, 1, MPI_INT, next_of(ranks), first_tag + i, MPI_COMM_WORLD,
                &requests[static_cast<std::size_t>(several + i)]);
    }
  };
  const auto see = [&] {
    check(std::ranges::all_of(received, [&](int number) { return number == previous_of(ranks); }), "a wrong message");
    received.fill(-1);
  };
  runtime.spawn({.label = "waits for all"}, [&] {
    std::array<MPI_Request, 2 * several> requests;
    start_all(requests);
    std::array<MPI_Status, 2 * several> statuses;
    MPI_Waitall(2 * several, requests.data(), statuses.data());
    check(statuses[1].MPI_TAG == first_tag + 1, "the status of another message");
    see();
  });
  runtime.wait();
  runtime.spawn({.label = "waits for each"}, [&] {
    std::array<MPI_Request, 2 * several> requests;
    start_all(requests);
    for (int i = 0; i < 2 * several; ++i) {
      int which = -1;
      MPI_Waitany(2 * several, requests.data(), &which, MPI_STATUS_IGNORE);
      check(which >= 0 && requests[static_cast<std::size_t>(which)] == MPI_REQUEST_NULL, "no request has ended");
    }
    see();
  });
  runtime.wait();
  runtime.spawn({.label = "waits for some"}, [&] {
    std::array<MPI_Request, 2 * several> requests;
    start_all(requests);
    for (int left = 2 * several; left > 0;) {
      int ended = 0;
      std::array<int, 2 * several> which{};
      MPI_Waitsome(2 * several, requests.data(), &ended, which.data(), MPI_STATUSES_IGNORE);
      left -= ended;
    }
    see();
  });
  runtime.wait();
  runtime.spawn({.label = "binds all"}, [&] {
    std::array<MPI_Request, 2 * several> requests;
    start_all(requests);
    mpi::iwaitall(requests);
  });
  runtime.wait();
  see();
  // In an onready; and ended by a call that is not stood before: its handle is the next one's.
  int in_onready = -1;
  runtime.spawn({.label = "starts with its own",
                 .onready =
                     [&] {
                       MPI_Request request;
                       MPI_Irecv(&in_onready, 1, MPI_INT, previous_of(ranks), 41, MPI_COMM_WORLD, &request);
                       mpi::iwait(request);
                     }},
                [&] { check(in_onready == previous_of(ranks), "a wrong message"); });
  runtime.spawn({.label = "tests"}, [&] {
    MPI_Request request;
    MPI_Isend(&ranks.rank, 1, MPI_INT, next_of(ranks), 41, MPI_COMM_WORLD, &request);
    for (int ended = 0; ended == 0;) {
      MPI_Test(&request, &ended, MPI_STATUS_IGNORE);
    }
  });
  runtime.wait();
}

void send_to_first(Runtime& runtime, const Ranks& ranks) {
  constexpr int first_tag = 10;
  if (ranks.rank > 0) {
    runtime.spawn({.label = "to any"},
                  [&] { mpi::send(&ranks.rank, 1, MPI_INT, 0, first_tag + ranks.rank, MPI_COMM_WORLD); });
    runtime.wait();
    return;
  }
  std::vector<int> received(static_cast<std::size_t>(ranks.size));
  int order = 0;
  for (int i = 1; i < ranks.size; ++i) {
    runtime.spawn({.label = "from any", .access = {inout(order)}}, [&, i] {
      MPI_Status status;
      mpi::recv(&received[static_cast<std::size_t>(i)], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                &status);
      check(status.MPI_TAG == first_tag + received[static_cast<std::size_t>(i)], "a wrong message");
    });
  }
  runtime.wait();
}

void send_both_ways(Runtime& runtime, const Ranks& ranks) {
  int received = -1;
  runtime.spawn({.label = "exchanges"}, [&] {
    mpi::sendrecv(&ranks.rank, 1, MPI_INT, next_of(ranks), 4, &received, 1, MPI_INT, previous_of(ranks), 4,
                  MPI_COMM_WORLD);
  });
  runtime.wait();
  check(received == previous_of(ranks), "a wrong message");
  runtime.spawn({.label = "exchanges unmodified"}, [&] {
    MPI_Sendrecv(&ranks.rank, 1, MPI_INT, next_of(ranks), 5, &received, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  });
  runtime.wait();
  int in_onready = -1;
  runtime.spawn({.label = "starts with it",
                 .onready = [&] { mpi::irecv(&in_onready, 1, MPI_INT, previous_of(ranks), 6, MPI_COMM_WORLD); }},
                [&] { check(in_onready == previous_of(ranks), "a wrong message"); });
  runtime.spawn({.label = "probes"}, [&] {
    MPI_Message message;
    MPI_Mprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(&received, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  });
  int probed = -1;
  runtime.spawn({.label = "probes in C++"}, [&] {
    MPI_Message message = mpi::mprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD);
    mpi::mrecv(&probed, 1, MPI_INT, message);
  });
  for (const int tag : {6, 7, 9}) {
    runtime.spawn({.label = "sends"},
                  [&, tag] { mpi::send(&ranks.rank, 1, MPI_INT, next_of(ranks), tag, MPI_COMM_WORLD); });
  }
  // No message of one rank to another.
  runtime.spawn({.label = "together"}, [&] { MPI_Barrier(MPI_COMM_WORLD); });
  runtime.wait();
}

// Each other one gets nothing from a task: what is sent outside of tasks is not recorded.
void send_from_outside(Runtime& runtime, const Ranks& ranks) {
  int received = -1;
  runtime.spawn({.label = "from outside"},
                [&] { mpi::recv(&received, 1, MPI_INT, previous_of(ranks), 8, MPI_COMM_WORLD); });
  MPI_Send(&ranks.rank, 1, MPI_INT, next_of(ranks), 8, MPI_COMM_WORLD);
  runtime.wait();
}

void use_processor(double seconds) {
  timespec begin{};
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while (static_cast<double>(now.tv_sec - begin.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec - begin.tv_nsec) <
           seconds);
}

constexpr double seconds_of_work = 0.1;

// A task of rank 0 waits for a message. With `is_hidden`, the message is sent when another task of rank 0 has computed; else while rank 0 has
// nothing to do.
void wait_for_message(const Ranks& ranks, bool is_hidden) {
  int number = 0;
  if (ranks.rank > 0) {
    if (ranks.rank == 1) {
      if (is_hidden) {
        MPI_Recv(&number, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        use_processor(seconds_of_work);
      }
      MPI_Send(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    return;
  }
  Options options;
  options.workers = 1;
  Runtime runtime(options);
  runtime.spawn({.label = "waits"}, [&] {
    if (is_hidden) {
      dovetail::spawn({.label = "computes"}, [&] {
        use_processor(seconds_of_work);
        mpi::send(&number, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
      });
    }
    mpi::recv(&number, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  });
  runtime.wait();
}

}  // namespace

int main(int count, char** arguments) {
  const Ranks ranks(&count, &arguments);
  const std::string_view what = count > 1 ? arguments[1] : "arrows";
  if (what == "hidden" || what == "idle") {
    wait_for_message(ranks, what == "hidden");
    return 0;
  }
  Options options;
  options.workers = 2;
  Runtime runtime(options);
  if (what == "outside") {
    send_from_outside(runtime, ranks);
    return 0;
  }
  send_around(runtime, ranks);
  send_several(runtime, ranks);
  send_to_first(runtime, ranks);
  MPI_Barrier(MPI_COMM_WORLD);  // what is sent from here on is for no receive from any rank
  send_both_ways(runtime, ranks);
  return 0;
}
