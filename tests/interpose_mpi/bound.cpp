// Every collective, persistent and partitioned requests, and waits for the first of several, as calls of <dovetail/mpi.hpp> in tasks.
// With the argument "unmodified", behind libdovetail-mpi: every blocking collective of MPI by its own name in tasks.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "interpose_mpi/ranks.hpp"

namespace {

using dovetail::in;
using dovetail::inout;
using dovetail::Options;
using dovetail::out;
using dovetail::Runtime;
using dovetail::test::check;
using dovetail::test::next_of;
using dovetail::test::previous_of;
using dovetail::test::Ranks;
namespace mpi = dovetail::mpi;
using Numbers = std::vector<int>;

void check_code(int code) { check(code == MPI_SUCCESS, "MPI's own call failed"); }

// What a collective is given, and MPI's blocking one beside it to compare with. Parts have 1, 2, 3 and so on elements.
struct Parts {
  explicit Parts(const Ranks& ranks)
      : size(ranks.size),
        counts(static_cast<std::size_t>(ranks.size)),
        places(counts.size()),
        bytes(counts.size()),
        types(counts.size(), MPI_INT) {
    std::iota(counts.begin(), counts.end(), 1);
    std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = places[i] * static_cast<int>(sizeof(int));
    }
    all = static_cast<std::size_t>(places.back() + counts.back());
    mine = counts[static_cast<std::size_t>(ranks.rank)];
    like_mine.assign(counts.size(), mine);
    own_places.resize(counts.size());
    std::exclusive_scan(like_mine.begin(), like_mine.end(), own_places.begin(), 0);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      own_bytes.push_back(own_places[i] * static_cast<int>(sizeof(int)));
    }
  }
  int size;
  Numbers counts;
  Numbers places;
  Numbers bytes;
  std::vector<MPI_Datatype> types;
  std::size_t all = 0;
  int mine = 0;
  Numbers like_mine;   ///< As many for each rank as this one has.
  Numbers own_places;  ///< Of these.
  Numbers own_bytes;
};

// Both are called with the same buffer to send from, and each with one of its own to receive in.
struct Case {
  std::string name;
  std::function<void(const int* sent, int* received)> blocking;
  std::function<void(const int* sent, int* received)> suspends;
  std::function<void(const int* sent, int* received)> binds;
};

// With the arguments of MPI's call, whose buffers are `sent` and `received`.
#define CASE(Call, call, ...)                                                                                \
  Case {                                                                                                     \
    #call,                                                                                                   \
        [&]([[maybe_unused]] const int* sent, [[maybe_unused]] int* received) {                              \
          check_code(MPI_##Call(__VA_ARGS__));                                                               \
        },                                                                                                   \
        [&]([[maybe_unused]] const int* sent, [[maybe_unused]] int* received) { mpi::call(__VA_ARGS__); },   \
        [&]([[maybe_unused]] const int* sent, [[maybe_unused]] int* received) { mpi::i##call(__VA_ARGS__); } \
  }

// Each in tasks by the calls of <dovetail/mpi.hpp>.
void as_calls_of_tasks(const std::vector<Case>& cases, const Numbers& sent, const Numbers& nothing,
                       const std::vector<Numbers>& expected) {
  std::vector<Numbers> waited(cases.size(), nothing);
  std::vector<Numbers> bound(cases.size(), nothing);
  Runtime runtime(Options{.workers = 2});
  int order = 0;  // the same in each rank, as MPI wants it
  for (std::size_t i = 0; i < cases.size(); ++i) {
    runtime.spawn({.label = cases[i].name, .access = {inout(order)}},
                  [&, i] { cases[i].suspends(sent.data(), waited[i].data()); });
    runtime.spawn({.label = "i" + cases[i].name, .access = {inout(order), out(bound[i])}},
                  [&, i] { cases[i].binds(sent.data(), bound[i].data()); });
    runtime.spawn({.label = "look", .access = {in(bound[i])}},
                  [&, i] { check(bound[i] == expected[i], "mpi::i" + cases[i].name + " differs from MPI's"); });
  }
  runtime.wait();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    check(waited[i] == expected[i], "mpi::" + cases[i].name + " differs from MPI's");
  }
}

// Each by MPI's own name, in a task of the only worker. The rank `late` makes its call when another task of each other rank has sent it a message,
// which that worker can run once the first task has let go of it. So a call for which `late` is waited for, and which holds its worker, hangs.
void by_their_own_names(const Ranks& ranks, const std::vector<Case>& cases, const Numbers& sent, const Numbers& nothing,
                        const std::vector<Numbers>& expected, int late) {
  Runtime runtime(Options{.workers = 1});
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Numbers received = nothing;
    runtime.spawn({.label = cases[i].name}, [&, i] {
      if (ranks.rank == late) {
        for (int other = 1; other < ranks.size; ++other) {
          mpi::recv(nullptr, 0, MPI_INT, MPI_ANY_SOURCE, static_cast<int>(i), MPI_COMM_WORLD);
        }
      } else {
        dovetail::spawn([late, i] { mpi::send(nullptr, 0, MPI_INT, late, static_cast<int>(i), MPI_COMM_WORLD); });
      }
      cases[i].blocking(sent.data(), received.data());
    });
    runtime.wait();
    check(received == expected[i], "MPI's " + cases[i].name + " in a task differs from the one outside");
  }
}

void every_collective(const Ranks& ranks, MPI_Comm ring, bool unmodified) {
  const Parts parts(ranks);
  const int root = ranks.size - 1;
  const int count = 3;
  const MPI_Comm world = MPI_COMM_WORLD;
  // In the ring, each rank sends to the next one and receives from the previous one.
  const int two = 2;
  const int here = 1;
  const int there = 4;
  const MPI_Aint here_bytes = here * static_cast<MPI_Aint>(sizeof(int));
  const MPI_Aint there_bytes = there * static_cast<MPI_Aint>(sizeof(int));
  const int* const c = parts.counts.data();
  const int* const p = parts.places.data();
  const int* const b = parts.bytes.data();
  const int* const own_c = parts.like_mine.data();
  const int* const own_p = parts.own_places.data();
  const int* const own_b = parts.own_bytes.data();
  const MPI_Datatype* const t = parts.types.data();
  // The one buffer of a broadcast, which has the root's numbers there.
  const auto cast = [&](const int* sent, int* received) {
    if (ranks.rank == root) {
      std::copy_n(sent, count, received);
    }
    return received;
  };
  const std::vector<Case> cases{
      CASE(Barrier, barrier, world),
      CASE(Bcast, bcast, cast(sent, received), count, MPI_INT, root, world),
      CASE(Gather, gather, sent, count, MPI_INT, received, count, MPI_INT, root, world),
      CASE(Gatherv, gatherv, sent, parts.mine, MPI_INT, received, c, p, MPI_INT, root, world),
      CASE(Scatter, scatter, sent, count, MPI_INT, received, count, MPI_INT, root, world),
      CASE(Scatterv, scatterv, sent, c, p, MPI_INT, received, parts.mine, MPI_INT, root, world),
      CASE(Allgather, allgather, sent, count, MPI_INT, received, count, MPI_INT, world),
      CASE(Allgatherv, allgatherv, sent, parts.mine, MPI_INT, received, c, p, MPI_INT, world),
      CASE(Alltoall, alltoall, sent, count, MPI_INT, received, count, MPI_INT, world),
      CASE(Alltoallv, alltoallv, sent, c, p, MPI_INT, received, own_c, own_p, MPI_INT, world),
      CASE(Alltoallw, alltoallw, sent, c, b, t, received, own_c, own_b, t, world),
      CASE(Reduce, reduce, sent, received, count, MPI_INT, MPI_SUM, root, world),
      CASE(Allreduce, allreduce, sent, received, count, MPI_INT, MPI_MAX, world),
      CASE(Reduce_scatter, reduce_scatter, sent, received, c, MPI_INT, MPI_SUM, world),
      CASE(Reduce_scatter_block, reduce_scatter_block, sent, received, count, MPI_INT, MPI_SUM, world),
      CASE(Scan, scan, sent, received, count, MPI_INT, MPI_SUM, world),
      CASE(Exscan, exscan, sent, received, count, MPI_INT, MPI_SUM, world),
      CASE(Neighbor_allgather, neighbor_allgather, sent, count, MPI_INT, received, count, MPI_INT, ring),
      CASE(Neighbor_allgatherv, neighbor_allgatherv, sent, 2, MPI_INT, received, &two, &there, MPI_INT, ring),
      CASE(Neighbor_alltoall, neighbor_alltoall, sent, count, MPI_INT, received, count, MPI_INT, ring),
      CASE(Neighbor_alltoallv, neighbor_alltoallv, sent, &two, &here, MPI_INT, received, &two, &there, MPI_INT, ring),
      CASE(Neighbor_alltoallw, neighbor_alltoallw, sent, &two, &here_bytes, t, received, &two, &there_bytes, t, ring),
  };
  Numbers sent(std::max<std::size_t>(parts.all, static_cast<std::size_t>(count * (ranks.size + 2))));
  for (std::size_t i = 0; i < sent.size(); ++i) {
    sent[i] = 1'000 * (ranks.rank + 1) + static_cast<int>(i);
  }
  // Room for what each rank would send to this one.
  const Numbers nothing(sent.size() * (static_cast<std::size_t>(ranks.size) + 1), -1);
  std::vector<Numbers> expected(cases.size(), nothing);
  // Before the first runtime they are MPI's, whatever stands before them.
  for (std::size_t i = 0; i < cases.size(); ++i) {
    cases[i].blocking(sent.data(), expected[i].data());
  }
  if (unmodified) {
    // What the root hands out waits for the root, and each other call for the first rank. So each of the two is late once.
    by_their_own_names(ranks, cases, sent, nothing, expected, 0);
    by_their_own_names(ranks, cases, sent, nothing, expected, root);
  } else {
    as_calls_of_tasks(cases, sent, nothing, expected);
  }
}

void collectives(const Ranks& ranks, bool unmodified) {
  MPI_Comm ring;
  const int previous = previous_of(ranks);
  const int next = next_of(ranks);
  const int weight = 1;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &previous, &weight, 1, &next, &weight, MPI_INFO_NULL, 0, &ring);
  every_collective(ranks, ring, unmodified);
  MPI_Comm_free(&ring);
}

// The first message to come is that of the tag that the neighbour sends; one worker, so that a call that holds it hangs.
void first_of_several(const Ranks& ranks) {
  Runtime runtime(Options{.workers = 1});
  constexpr int messages = 8;
  auto waits = runtime.spawn([&] {
    std::array<int, messages> values{};
    std::array<MPI_Request, messages> requests;
    for (int tag = 0; tag < messages; ++tag) {
      MPI_Irecv(&values[static_cast<std::size_t>(tag)], 1, MPI_INT, previous_of(ranks), tag, MPI_COMM_WORLD,
                &requests[static_cast<std::size_t>(tag)]);
    }
    for (int turn = 0; turn < messages; ++turn) {
      MPI_Status status;
      const int place = mpi::waitany(requests, &status);
      check(place == messages - 1 - turn && status.MPI_TAG == place && status.MPI_SOURCE == previous_of(ranks),
            "another message was the first");
      check(values[static_cast<std::size_t>(place)] == 10 * place, "the value of the first message is wrong");
      check(requests[static_cast<std::size_t>(place)] == MPI_REQUEST_NULL, "a request that has ended is not null");
      mpi::ssend(nullptr, 0, MPI_INT, previous_of(ranks), 100, MPI_COMM_WORLD);  // "the next one"
    }
    check(mpi::waitany(requests) == MPI_UNDEFINED, "null requests have no first");
  });
  runtime.spawn([&] {
    for (int tag = messages - 1; tag >= 0; --tag) {
      const int value = 10 * tag;
      mpi::send(&value, 1, MPI_INT, next_of(ranks), tag, MPI_COMM_WORLD);
      mpi::recv(nullptr, 0, MPI_INT, next_of(ranks), 100, MPI_COMM_WORLD);
    }
  });
  runtime.wait();
  waits.get();
}

void exchanges(const Ranks& ranks) {
  Runtime runtime(Options{.workers = 1});
  constexpr int tasks = 20;
  std::array<Numbers, tasks> received;
  for (int tag = 0; tag < tasks; ++tag) {
    runtime.spawn([&, tag] {
      const Numbers own(20'000, 100 * ranks.rank + tag);  // more than MPI keeps for itself
      Numbers& into = received[static_cast<std::size_t>(tag)];
      into.assign(own.size(), -1);
      MPI_Status status;
      mpi::sendrecv(own.data(), static_cast<int>(own.size()), MPI_INT, next_of(ranks), tag, into.data(),
                    static_cast<int>(into.size()), MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
      check(status.MPI_SOURCE == previous_of(ranks) && into == Numbers(into.size(), 100 * previous_of(ranks) + tag),
            "an exchange is wrong");
    });
  }
  runtime.spawn([&] {
    int value = 0;
    try {
      mpi::sendrecv(&value, 1, MPI_INT, 12'345, 77, &value, 1, MPI_INT, previous_of(ranks), 78, MPI_COMM_WORLD);
      check(false, "a message to no rank was sent");
    } catch (const mpi::Error& error) {
      check(error.peer() == 12'345 && error.tag() == 77, std::string("not the fault of sending: ") + error.what());
    }
  });
  runtime.wait();
}

// Messages of unknown length.
void matched_probes(const Ranks& ranks) {
  Runtime runtime(Options{.workers = 1});
  constexpr int tasks = 10;
  for (int tag = 0; tag < tasks; ++tag) {
    auto into = std::make_shared<Numbers>();
    runtime.spawn([&, tag, into] {
      MPI_Status status;
      mpi::probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
      check(status.MPI_SOURCE == previous_of(ranks) && status.MPI_TAG == tag, "another message was found");
      MPI_Message message = mpi::mprobe(previous_of(ranks), tag, MPI_COMM_WORLD, &status);
      int count = 0;
      MPI_Get_count(&status, MPI_INT, &count);
      into->resize(static_cast<std::size_t>(count));
      if (tag % 2 == 0) {
        mpi::mrecv(into->data(), count, MPI_INT, message);
      } else {
        mpi::imrecv(into->data(), count, MPI_INT, message);
      }
      check(message == MPI_MESSAGE_NULL, "a message was not taken over");
    });
    runtime.spawn([&, tag] {
      const Numbers own(static_cast<std::size_t>(tag + 1), 7 * tag);
      mpi::ssend(own.data(), tag + 1, MPI_INT, next_of(ranks), tag, MPI_COMM_WORLD);
    });
    runtime.wait();
    check(*into == Numbers(static_cast<std::size_t>(tag + 1), 7 * tag), "a message that was found is wrong");
  }
}

// The same two requests in each round: their tasks complete when the round's message has come and gone.
void persistent(const Ranks& ranks) {
  Runtime runtime(Options{.workers = 2});
  constexpr int rounds = 200;
  Numbers sent(1'000);
  Numbers received(sent.size());
  MPI_Request sends;
  MPI_Request receives;
  std::array<MPI_Status, 2> statuses;
  MPI_Send_init(sent.data(), static_cast<int>(sent.size()), MPI_INT, next_of(ranks), 1, MPI_COMM_WORLD, &sends);
  MPI_Recv_init(received.data(), static_cast<int>(sent.size()), MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &receives);
  const MPI_Request before = receives;
  for (int round = 0; round < rounds; ++round) {
    runtime.spawn({.access = {out(sent)}}, [&, round] { sent.assign(sent.size(), 10 * round + ranks.rank); });
    if (round % 2 == 0) {
      runtime.spawn({.access = {in(sent)}}, [&] { mpi::start(sends); });
      runtime.spawn({.access = {out(received), out(statuses)}}, [&] { mpi::start(receives, &statuses[0]); });
    } else {
      runtime.spawn({.access = {in(sent), out(received), out(statuses)}},
                    [&] { mpi::startall(std::array{receives, sends}, statuses.data()); });
    }
    runtime.spawn({.access = {in(received), in(statuses)}}, [&, round] {
      check(statuses[0].MPI_SOURCE == previous_of(ranks), "the status of a persistent request is wrong");
      check(received == Numbers(sent.size(), 10 * round + previous_of(ranks)),
            "a task read what had not been received");
    });
  }
  runtime.wait();
  check(receives == before && sends != MPI_REQUEST_NULL, "a persistent request did not stay the program's");
  MPI_Request_free(&sends);
  MPI_Request_free(&receives);
}

void outside_of_tasks(const Ranks& ranks) {
  std::array<MPI_Request, 2> requests;
  int value = 0;
  const int own = 30 + ranks.rank;
  MPI_Irecv(&value, 1, MPI_INT, previous_of(ranks), 5, MPI_COMM_WORLD, &requests[0]);
  requests[1] = MPI_REQUEST_NULL;
  MPI_Request sends;
  MPI_Isend(&own, 1, MPI_INT, next_of(ranks), 5, MPI_COMM_WORLD, &sends);
  check(mpi::waitany(requests) == 0 && value == 30 + previous_of(ranks), "waitany outside of a task");
  mpi::wait(sends);
  int exchanged = 0;
  MPI_Status status;
  mpi::sendrecv(&own, 1, MPI_INT, next_of(ranks), 6, &exchanged, 1, MPI_INT, previous_of(ranks), 6, MPI_COMM_WORLD,
                &status);
  check(exchanged == value && status.MPI_SOURCE == previous_of(ranks), "sendrecv outside of a task");
  int sum = 0;
  mpi::allreduce(&ranks.rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  check(sum == ranks.size * (ranks.size - 1) / 2, "allreduce outside of a task");
  try {
    mpi::ibarrier(MPI_COMM_WORLD);
    check(false, "a call was bound to no task");
  } catch (const std::logic_error& error) {
    check(std::string(error.what()).find("MPI_Ibarrier") == 0, error.what());
  }
}

#if MPI_VERSION >= 4
// A task for each partition that is sent and for each that is received; the requests are started again in the next round.
void partitions(const Ranks& ranks) {
  Runtime runtime(Options{.workers = 2});
  constexpr int rounds = 20;
  constexpr std::size_t parts = 8;
  constexpr std::size_t size = 500;
  std::array<std::array<int, size>, parts> sent{};
  std::array<std::array<int, size>, parts> received{};
  MPI_Request sends;
  MPI_Request receives;
  MPI_Psend_init(sent.data(), parts, size, MPI_INT, next_of(ranks), 2, MPI_COMM_WORLD, MPI_INFO_NULL, &sends);
  MPI_Precv_init(received.data(), parts, size, MPI_INT, previous_of(ranks), 2, MPI_COMM_WORLD, MPI_INFO_NULL,
                 &receives);
  for (int round = 0; round < rounds; ++round) {
    check_code(MPI_Start(&receives));
    runtime.spawn({.label = "send"}, [&, round] {
      mpi::start(sends);
      for (std::size_t part = parts; part-- > 0;) {
        dovetail::spawn([&, part, round] {
          sent[part].fill(100 * round + static_cast<int>(part) + ranks.rank);
          check_code(MPI_Pready(static_cast<int>(part), sends));
        });
      }
    });
    for (std::size_t part = 0; part < parts; ++part) {
      runtime.spawn({.label = "receive", .access = {out(received[part])}},
                    [&, part] { mpi::parrived(receives, static_cast<int>(part)); });
      runtime.spawn({.label = "look", .access = {in(received[part])}}, [&, part, round] {
        check(received[part].front() == 100 * round + static_cast<int>(part) + previous_of(ranks) &&
                  received[part].back() == received[part].front(),
              "a task read a partition that had not arrived");
      });
    }
    runtime.wait();
    check_code(MPI_Wait(&receives, MPI_STATUS_IGNORE));
  }
  MPI_Request_free(&sends);
  MPI_Request_free(&receives);
}
#endif

}  // namespace

int main(int count, char** arguments) {
  const Ranks ranks(&count, &arguments);
  if (count > 1 && std::string_view(arguments[1]) == "unmodified") {
    collectives(ranks, true);
    return 0;
  }
  outside_of_tasks(ranks);
  collectives(ranks, false);
  first_of_several(ranks);
  exchanges(ranks);
  matched_probes(ranks);
  persistent(ranks);
#if MPI_VERSION >= 4
  partitions(ranks);
#endif
  return 0;
}
