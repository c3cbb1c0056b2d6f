// MPI's own blocking calls in tasks: one worker, so that a call that holds it hangs.
#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "dovetail/dovetail.hpp"
#include "interpose_mpi/ranks.hpp"

namespace {

using dovetail::Options;
using dovetail::Runtime;
using dovetail::test::check;
using dovetail::test::next_of;
using dovetail::test::previous_of;
using dovetail::test::Ranks;

// `receives` waits until the other task, which runs after it on the only worker, has made the neighbour go on.
template <class Receive, class Send>
void cross(Receive&& receives, Send&& sends) {
  Runtime runtime(Options{.workers = 1});
  runtime.spawn(receives);
  runtime.spawn(sends);
  runtime.wait();
}

void point_to_point(const Ranks& ranks) {
  int tag = 0;
  for (const auto send : {MPI_Send, MPI_Ssend}) {
    int value = -1;
    MPI_Status status{};
    cross([&] { MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status); },
          [&] { send(&ranks.rank, 1, MPI_INT, next_of(ranks), tag, MPI_COMM_WORLD); });
    check(value == previous_of(ranks) && status.MPI_SOURCE == previous_of(ranks) && status.MPI_TAG == tag, "MPI_Recv");
    ++tag;
  }
}

// All ranks are in this one at once.
void send_and_receive(const Ranks& ranks) {
  Runtime runtime(Options{.workers = 1});
  std::array<int, 20> values{};
  for (int tag = 0; tag < 20; ++tag) {
    runtime.spawn([&, tag] {
      const int sent = ranks.rank + tag;
      MPI_Status status;
      MPI_Sendrecv(&sent, 1, MPI_INT, next_of(ranks), tag, &values[static_cast<std::size_t>(tag)], 1, MPI_INT,
                   previous_of(ranks), tag, MPI_COMM_WORLD, &status);
      check(status.MPI_SOURCE == previous_of(ranks), "the status of MPI_Sendrecv");
    });
  }
  runtime.wait();
  for (int tag = 0; tag < 20; ++tag) {
    check(values[static_cast<std::size_t>(tag)] == previous_of(ranks) + tag, "MPI_Sendrecv");
  }
}

void probes(const Ranks& ranks) {
  std::vector<int> received;
  std::vector<int> matched;
  const std::vector<int> sent{ranks.rank, 2, 3};
  Runtime runtime(Options{.workers = 1});
  runtime.spawn([&] {
    MPI_Status status;
    MPI_Probe(previous_of(ranks), 30, MPI_COMM_WORLD, &status);
    int count = 0;
    MPI_Get_count(&status, MPI_INT, &count);
    received.resize(static_cast<std::size_t>(count));
    MPI_Recv(received.data(), count, MPI_INT, previous_of(ranks), 30, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
  runtime.spawn([&] {
    MPI_Status status;
    MPI_Message message;
    MPI_Mprobe(previous_of(ranks), 31, MPI_COMM_WORLD, &message, &status);
    int count = 0;
    MPI_Get_count(&status, MPI_INT, &count);
    matched.resize(static_cast<std::size_t>(count));
    MPI_Mrecv(matched.data(), count, MPI_INT, &message, MPI_STATUS_IGNORE);
  });
  runtime.spawn([&] {
    MPI_Send(sent.data(), 3, MPI_INT, next_of(ranks), 31, MPI_COMM_WORLD);
    MPI_Send(sent.data(), 3, MPI_INT, next_of(ranks), 30, MPI_COMM_WORLD);
  });
  runtime.wait();
  const std::vector<int> expected{previous_of(ranks), 2, 3};
  check(received == expected, "MPI_Probe");
  check(matched == expected, "MPI_Mprobe");
}

// The first message has come and the second one has failed, while the third is not sent yet: the messages to and fro see to that.
void statuses_where_one_fails(const Ranks& ranks) {
  constexpr int rounds = 200;
  const auto receive = [&](int tag) {
    int value = 0;
    MPI_Recv(&value, 1, MPI_INT, previous_of(ranks), tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  };
  const auto send = [&](int tag, int count) {
    const std::array<int, 2> values{tag, tag};
    MPI_Send(values.data(), count, MPI_INT, next_of(ranks), tag, MPI_COMM_WORLD);
  };
  Runtime runtime(Options{.workers = 1});
  runtime.spawn([&] {
    std::array<int, 3> values{};
    std::array<MPI_Request, 3> all;
    std::array<MPI_Status, 3> statuses;
    std::memset(statuses.data(), 0x55, sizeof statuses);
    for (int i = 0; i < 3; ++i) {
      const auto place = static_cast<std::size_t>(i);
      MPI_Irecv(&values[place], 1, MPI_INT, previous_of(ranks), 60 + i, MPI_COMM_WORLD, &all[place]);
    }
    check(MPI_Waitall(3, all.data(), statuses.data()) == MPI_ERR_IN_STATUS, "MPI_Waitall of which one fails");
    for (int i = 0; i < 3; ++i) {
      const MPI_Status& status = statuses[static_cast<std::size_t>(i)];
      int its_class = MPI_SUCCESS;
      MPI_Error_class(status.MPI_ERROR, &its_class);
      check(its_class == (i == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "MPI_ERROR of a status");
      check(i == 1 || (status.MPI_SOURCE == previous_of(ranks) && status.MPI_TAG == 60 + i), "a status of MPI_Waitall");
    }
    check(values[0] == 60 && values[2] == 62, "what MPI_Waitall has received");
  });
  runtime.spawn([&] {
    send(60, 1);
    send(61, 2);
    for (int round = 0; round < rounds; ++round) {
      send(63, 1);
      receive(64);
    }
    send(62, 1);
  });
  runtime.spawn([&] {
    for (int round = 0; round < rounds; ++round) {
      receive(63);
      send(64, 1);
    }
  });
  runtime.wait();
}

void requests(const Ranks& ranks) {
  std::array<int, 4> values{};
  std::array<MPI_Request, 4> all;
  MPI_Request persistent;
  int repeated = 0;
  MPI_Recv_init(&repeated, 1, MPI_INT, previous_of(ranks), 50, MPI_COMM_WORLD, &persistent);
  Runtime runtime(Options{.workers = 1});
  runtime.spawn([&] {
    for (int tag = 0; tag < 4; ++tag) {
      MPI_Irecv(&values[static_cast<std::size_t>(tag)], 1, MPI_INT, previous_of(ranks), 40 + tag, MPI_COMM_WORLD,
                &all[static_cast<std::size_t>(tag)]);
    }
    int which = -1;
    MPI_Waitany(4, all.data(), &which, MPI_STATUS_IGNORE);
    check(which >= 0 && which < 4 && all[static_cast<std::size_t>(which)] == MPI_REQUEST_NULL, "MPI_Waitany");
    int ended = 0;
    std::array<int, 4> places{};
    MPI_Waitsome(4, all.data(), &ended, places.data(), MPI_STATUSES_IGNORE);
    check(ended >= 1 && ended <= 3, "MPI_Waitsome");
    std::array<MPI_Status, 4> statuses;
    MPI_Waitall(4, all.data(), statuses.data());
    for (const MPI_Request& request : all) {
      check(request == MPI_REQUEST_NULL, "MPI_Waitall");
    }
    for (int round = 0; round < 3; ++round) {
      MPI_Start(&persistent);
      MPI_Wait(&persistent, MPI_STATUS_IGNORE);
      check(persistent != MPI_REQUEST_NULL && repeated == round, "MPI_Wait of a persistent request");
    }
  });
  runtime.spawn([&] {
    for (int tag = 0; tag < 4; ++tag) {
      const int value = 100 + tag;
      MPI_Ssend(&value, 1, MPI_INT, next_of(ranks), 40 + tag, MPI_COMM_WORLD);
    }
    for (int round = 0; round < 3; ++round) {
      MPI_Ssend(&round, 1, MPI_INT, next_of(ranks), 50, MPI_COMM_WORLD);
    }
  });
  runtime.wait();
  check(values == std::array<int, 4>{100, 101, 102, 103}, "a message of several requests");
  MPI_Request_free(&persistent);
}

// Some ranks call it in a task, some outside of one.
template <class Call>
void in_some_tasks(const Ranks& ranks, Call&& call) {
  if (ranks.rank % 2 == 0) {
    Runtime runtime(Options{.workers = 1});
    runtime.spawn(call).get();
  } else {
    call();
  }
}

void collectives(const Ranks& ranks) {
  const Runtime started(Options{.workers = 1});  // in each rank
  const auto size = static_cast<std::size_t>(ranks.size);
  const int sum = ranks.size * (ranks.size - 1) / 2;
  for (int round = 0; round < 10; ++round) {
    in_some_tasks(ranks, [&] {
      MPI_Barrier(MPI_COMM_WORLD);
      int value = ranks.rank == round % ranks.size ? round : -1;
      MPI_Bcast(&value, 1, MPI_INT, round % ranks.size, MPI_COMM_WORLD);
      check(value == round, "MPI_Bcast");
      int total = 0;
      MPI_Allreduce(&ranks.rank, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      check(total == sum, "MPI_Allreduce");
      std::vector<int> every(size, -1);
      MPI_Allgather(&ranks.rank, 1, MPI_INT, every.data(), 1, MPI_INT, MPI_COMM_WORLD);
      std::vector<int> expected(size);
      std::iota(expected.begin(), expected.end(), 0);
      check(every == expected, "MPI_Allgather");
      std::vector<int> to_all(size, ranks.rank);
      MPI_Alltoall(to_all.data(), 1, MPI_INT, every.data(), 1, MPI_INT, MPI_COMM_WORLD);
      check(every == expected, "MPI_Alltoall");
      int before = 0;
      MPI_Scan(&ranks.rank, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      check(before == ranks.rank * (ranks.rank + 1) / 2, "MPI_Scan");
      int largest = -1;
      MPI_Reduce(&ranks.rank, &largest, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
      check(ranks.rank != 0 || largest == ranks.size - 1, "MPI_Reduce");
      std::vector<int> gathered(size);
      MPI_Gather(&ranks.rank, 1, MPI_INT, gathered.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
      check(ranks.rank != 0 || gathered == expected, "MPI_Gather");
      int own = -1;
      MPI_Scatter(expected.data(), 1, MPI_INT, &own, 1, MPI_INT, 0, MPI_COMM_WORLD);
      check(own == ranks.rank, "MPI_Scatter");
    });
  }
}

}  // namespace

int main(int count, char** arguments) {
  const Ranks ranks(&count, &arguments);
  point_to_point(ranks);
  send_and_receive(ranks);
  probes(ranks);
  requests(ranks);
  if (ranks.size > 1) {  // Open MPI 4.1 does not tell that it has cut a message of a rank to itself
    statuses_where_one_fails(ranks);
  }
  collectives(ranks);
  return 0;
}
