/* The forms of dovetail_mpi.h that c_calls.c has not: collectives against MPI's own, matched and probed messages, waitsome, partitions. One worker, so
 * that a call that holds it hangs. */
#include <dovetail/dovetail.h>
#include <dovetail/dovetail_mpi.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  MOST_RANKS = 8,
  EACH = 3,
  NUMBERS = MOST_RANKS * EACH,
  SUSPENDS = 0,
  BINDS = 1,
  PLAIN = 2,
  FORMS = 2,
  LATE = 77
};

static int rank;
static int size;
static int next;
static int previous;
static dovetail_runtime* runtime;
static MPI_Comm plain; /* of the same ranks: MPI does not match its blocking calls with these forms */
/* Those of neighbours: each rank is one of each, the last rank first. */
static MPI_Comm neighbours;
static MPI_Comm plain_neighbours;

static void check(int holds, const char* what) {
  if (!holds) {
    fprintf(stderr, "rank %d: %s (last error: %s)\n", rank, what, dovetail_error_message());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void spawn(dovetail_fallible_body body, void* argument, dovetail_future** future) {
  const dovetail_task_description task = {
      .size = sizeof task, .fallible_body = body, .argument = argument, .label = "task"};
  check(dovetail_runtime_spawn(runtime, &task, future) == 0, "spawning");
}
static void wait_for_all(void) { check(dovetail_runtime_wait(runtime) == 0, "a task failed"); }

static int counts[MOST_RANKS];
static int places[MOST_RANKS];
static int bytes[MOST_RANKS];
static MPI_Datatype types[MOST_RANKS];
static int given[NUMBERS];
static int taken[NUMBERS];

#define FORM(small, large, ...)                                           \
  static int32_t small##_as(int form) {                                   \
    const MPI_Comm communicator = form == PLAIN ? plain : MPI_COMM_WORLD; \
    switch (form) {                                                       \
      case SUSPENDS:                                                      \
        return dovetail_mpi_##small(__VA_ARGS__);                         \
      case BINDS:                                                         \
        return dovetail_mpi_i##small(__VA_ARGS__);                        \
      default:                                                            \
        return MPI_##large(__VA_ARGS__);                                  \
    }                                                                     \
  }
FORM(barrier, Barrier, communicator)
FORM(bcast, Bcast, taken, EACH, MPI_INT, size - 1, communicator)
FORM(gather, Gather, given, EACH, MPI_INT, taken, EACH, MPI_INT, size - 1, communicator)
FORM(gatherv, Gatherv, given, counts[rank], MPI_INT, taken, counts, places, MPI_INT, 0, communicator)
FORM(scatter, Scatter, given, EACH, MPI_INT, taken, EACH, MPI_INT, size - 1, communicator)
FORM(scatterv, Scatterv, given, counts, places, MPI_INT, taken, counts[rank], MPI_INT, 0, communicator)
FORM(allgather, Allgather, given, EACH, MPI_INT, taken, EACH, MPI_INT, communicator)
FORM(allgatherv, Allgatherv, given, counts[rank], MPI_INT, taken, counts, places, MPI_INT, communicator)
FORM(alltoall, Alltoall, given, EACH, MPI_INT, taken, EACH, MPI_INT, communicator)
FORM(reduce, Reduce, given, taken, EACH, MPI_INT, MPI_SUM, 0, communicator)
FORM(allreduce, Allreduce, given, taken, EACH, MPI_INT, MPI_MAX, communicator)
FORM(reduce_scatter, Reduce_scatter, given, taken, counts, MPI_INT, MPI_SUM, communicator)
FORM(reduce_scatter_block, Reduce_scatter_block, given, taken, EACH, MPI_INT, MPI_SUM, communicator)
FORM(scan, Scan, given, taken, EACH, MPI_INT, MPI_SUM, communicator)
FORM(exscan, Exscan, given, taken, EACH, MPI_INT, MPI_SUM, communicator)
/* So many to each: as many as it takes from this one. */
static int same[MOST_RANKS];
FORM(alltoallv, Alltoallv, given, same, places, MPI_INT, taken, same, places, MPI_INT, communicator)
FORM(alltoallw, Alltoallw, given, same, bytes, types, taken, same, bytes, types, communicator)

static MPI_Aint offsets[MOST_RANKS];
#define NEIGHBOUR_FORM(small, ...)                                               \
  static int32_t neighbor_##small##_as(int form) {                               \
    const MPI_Comm communicator = form == PLAIN ? plain_neighbours : neighbours; \
    switch (form) {                                                              \
      case SUSPENDS:                                                             \
        return dovetail_mpi_neighbor_##small(__VA_ARGS__);                       \
      case BINDS:                                                                \
        return dovetail_mpi_ineighbor_##small(__VA_ARGS__);                      \
      default:                                                                   \
        return MPI_Neighbor_##small(__VA_ARGS__);                                \
    }                                                                            \
  }
NEIGHBOUR_FORM(allgather, given, EACH, MPI_INT, taken, EACH, MPI_INT, communicator)
NEIGHBOUR_FORM(allgatherv, given, same[rank], MPI_INT, taken, same, places, MPI_INT, communicator)
NEIGHBOUR_FORM(alltoall, given, EACH, MPI_INT, taken, EACH, MPI_INT, communicator)
NEIGHBOUR_FORM(alltoallv, given, same, places, MPI_INT, taken, same, places, MPI_INT, communicator)
NEIGHBOUR_FORM(alltoallw, given, same, offsets, types, taken, same, offsets, types, communicator)

static const struct {
  const char* name;
  int32_t (*call)(int form);
} forms[] = {{"barrier", barrier_as},
             {"bcast", bcast_as},
             {"gather", gather_as},
             {"gatherv", gatherv_as},
             {"scatter", scatter_as},
             {"scatterv", scatterv_as},
             {"allgather", allgather_as},
             {"allgatherv", allgatherv_as},
             {"alltoall", alltoall_as},
             {"alltoallv", alltoallv_as},
             {"alltoallw", alltoallw_as},
             {"reduce", reduce_as},
             {"allreduce", allreduce_as},
             {"reduce_scatter", reduce_scatter_as},
             {"reduce_scatter_block", reduce_scatter_block_as},
             {"scan", scan_as},
             {"exscan", exscan_as},
             {"neighbor_allgather", neighbor_allgather_as},
             {"neighbor_allgatherv", neighbor_allgatherv_as},
             {"neighbor_alltoall", neighbor_alltoall_as},
             {"neighbor_alltoallv", neighbor_alltoallv_as},
             {"neighbor_alltoallw", neighbor_alltoallw_as}};

static int present_form;
static size_t present;
static void fill(void) {
  for (int i = 0; i < NUMBERS; ++i) {
    given[i] = 1000 * rank + 10 * i + (int)present;
    taken[i] = rank == size - 1 ? i : -1;
  }
}
/* Rank 0 begins last: when another task of the last rank has sent it a message, while a task waits there in the collective. */
static int32_t collective(void* argument) {
  int late = 0;
  (void)argument;
  if (rank == 0 && size > 1) {
    check(dovetail_mpi_recv(&late, 1, MPI_INT, size - 1, LATE, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == 0, "a receive");
  }
  return forms[present].call(present_form);
}
static int32_t let_begin(void* argument) {
  (void)argument;
  return dovetail_mpi_send(&rank, 1, MPI_INT, 0, LATE, MPI_COMM_WORLD);
}
static void collectives(void) {
  int wanted[NUMBERS];
  for (int i = 0; i < size; ++i) {
    counts[i] = 1 + i % EACH;
    places[i] = i * EACH;
    bytes[i] = places[i] * (int)sizeof(int);
    offsets[i] = bytes[i];
    types[i] = MPI_INT;
    same[i] = EACH;
  }
  for (present = 0; present < sizeof forms / sizeof forms[0]; ++present) {
    fill();
    check(forms[present].call(PLAIN) == MPI_SUCCESS, "MPI's own");
    memcpy(wanted, taken, sizeof wanted);
    for (present_form = 0; present_form < FORMS; ++present_form) {
      fill();
      spawn(collective, NULL, NULL);
      if (rank == size - 1 && size > 1) {
        spawn(let_begin, NULL, NULL);
      }
      wait_for_all();
      check(memcmp(wanted, taken, sizeof wanted) == 0, forms[present].name);
    }
  }
}

/* Two messages, of which the second is matched first. */
static MPI_Status matched_status;
static int matched[2];
static int32_t send_two(void* argument) {
  static int both[2];
  (void)argument;
  both[0] = 20 + rank;
  both[1] = 30 + rank;
  check(dovetail_mpi_isend(&both[0], 1, MPI_INT, next, 20, MPI_COMM_WORLD) == 0, "a send");
  return dovetail_mpi_isend(&both[1], 1, MPI_INT, next, 30, MPI_COMM_WORLD);
}
static int32_t match_two(void* argument) {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status seen;
  (void)argument;
  check(dovetail_mpi_probe(previous, 30, MPI_COMM_WORLD, &seen) == 0 && seen.MPI_TAG == 30, "a probe");
  check(dovetail_mpi_mprobe(MPI_ANY_SOURCE, 30, MPI_COMM_WORLD, &message, &seen) == 0, "a matching probe");
  check(seen.MPI_SOURCE == previous && message != MPI_MESSAGE_NULL, "what was matched");
  check(dovetail_mpi_mrecv(&matched[1], 1, MPI_INT, &message, MPI_STATUS_IGNORE) == 0, "a matched receive");
  check(matched[1] == 30 + previous && message == MPI_MESSAGE_NULL, "what was received of a match");
  check(dovetail_mpi_mprobe(previous, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &seen) == 0 && seen.MPI_TAG == 20,
        "the other matching probe");
  return dovetail_mpi_imrecv(&matched[0], 1, MPI_INT, &message, &matched_status);
}
static void matches(void) {
  spawn(match_two, NULL, NULL);
  spawn(send_two, NULL, NULL);
  wait_for_all();
  check(matched[0] == 20 + previous && matched_status.MPI_TAG == 20, "a bound matched receive");
}

/* A ring in which each waits for the one before: by sends that wait for their receive, it would hang. */
static int32_t exchange(void* argument) {
  enum { LARGE = 100000 };
  static int from[LARGE];
  static int into[LARGE];
  MPI_Status status;
  (void)argument;
  for (int i = 0; i < LARGE; ++i) {
    from[i] = i + rank;
  }
  check(dovetail_mpi_sendrecv(from, LARGE, MPI_INT, next, 40, into, LARGE, MPI_INT, previous, 40, MPI_COMM_WORLD,
                              &status) == 0,
        "an exchange");
  check(into[0] == previous && into[LARGE - 1] == LARGE - 1 + previous && status.MPI_SOURCE == previous,
        "what was exchanged");
  if (size == 1) {
    return 0; /* a library may cut a message of a rank to itself without a word */
  }
  check(dovetail_mpi_sendrecv(from, 4, MPI_INT, next, 41, into, 1, MPI_INT, previous, 41, MPI_COMM_WORLD,
                              MPI_STATUS_IGNORE) == -EIO,
        "an exchange took what is too long");
  check(strstr(dovetail_error_message(), "MPI_Sendrecv from rank") != NULL, "the error of an exchange");
  dovetail_error_clear();
  return 0;
}

/* Some of several, in a task and outside of one. */
static int32_t some(void* argument) {
  MPI_Request requests[6];
  int values[3];
  int found = 0;
  int ended = 0;
  int which[6];
  MPI_Status statuses[6];
  (void)argument;
  for (int i = 0; i < 3; ++i) {
    MPI_Irecv(&values[i], 1, MPI_INT, previous, 50 + i, plain, &requests[i]);
    MPI_Isend(&rank, 1, MPI_INT, next, 50 + i, plain, &requests[3 + i]);
  }
  while (ended < 6) {
    check(dovetail_mpi_waitsome(6, requests, &found, which, statuses) == 0 && found > 0, "some of several");
    for (int i = 0; i < found; ++i) {
      check(requests[which[i]] == MPI_REQUEST_NULL, "a request of some is there");
      check(which[i] > 2 || (values[which[i]] == previous && statuses[i].MPI_TAG == 50 + which[i]), "a value of some");
    }
    ended += found;
  }
  check(dovetail_mpi_waitsome(6, requests, &found, which, MPI_STATUSES_IGNORE) == 0 && found == MPI_UNDEFINED,
        "some of none");
  return 0;
}

static MPI_Request persistent[2];
static int persistent_value;
static int32_t start_both(void* argument) {
  (void)argument;
  return dovetail_mpi_startall(2, persistent, MPI_STATUSES_IGNORE);
}
static void starts(void) {
  MPI_Send_init(&rank, 1, MPI_INT, next, 60, MPI_COMM_WORLD, &persistent[0]);
  MPI_Recv_init(&persistent_value, 1, MPI_INT, previous, 60, MPI_COMM_WORLD, &persistent[1]);
  for (int round = 0; round < 3; ++round) {
    persistent_value = -1;
    spawn(start_both, NULL, NULL);
    wait_for_all();
    check(persistent_value == previous, "a persistent message");
  }
  MPI_Request_free(&persistent[0]);
  MPI_Request_free(&persistent[1]);
}

#if MPI_VERSION >= 4
/* The second partition is sent when the task that waits for the first has ended. */
enum { PARTITION = 1000 };
static MPI_Request sending;
static MPI_Request receiving;
static double parts[2 * PARTITION];
static int32_t arrives(void* argument) { return dovetail_mpi_parrived(receiving, (int)(intptr_t)argument); }
static int32_t is_outside(void) { return dovetail_mpi_parrived(receiving, 0); }
static void partitions(void) {
  double own[2 * PARTITION];
  for (int i = 0; i < 2 * PARTITION; ++i) {
    own[i] = i + rank;
  }
  MPI_Psend_init(own, 2, PARTITION, MPI_DOUBLE, next, 70, MPI_COMM_WORLD, MPI_INFO_NULL, &sending);
  MPI_Precv_init(parts, 2, PARTITION, MPI_DOUBLE, previous, 70, MPI_COMM_WORLD, MPI_INFO_NULL, &receiving);
  MPI_Start(&receiving);
  MPI_Start(&sending);
  check(is_outside() == -EPERM, "a partition was bound to no task");
  dovetail_future* last = NULL;
  spawn(arrives, (void*)(intptr_t)1, &last);
  MPI_Pready(0, sending);
  MPI_Pready(1, sending);
  check(dovetail_future_get(last) == 0, "a partition");
  check(parts[2 * PARTITION - 1] == 2 * PARTITION - 1 + previous, "what has arrived");
  dovetail_future_release(last);
  spawn(arrives, (void*)(intptr_t)0, NULL);
  wait_for_all();
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  MPI_Wait(&receiving, MPI_STATUS_IGNORE);
  MPI_Request_free(&sending);
  MPI_Request_free(&receiving);
}
#endif

static MPI_Comm all_as_neighbours(void) {
  int others[MOST_RANKS];
  int weights[MOST_RANKS];
  MPI_Comm made;
  for (int i = 0; i < size; ++i) {
    others[i] = size - 1 - i;
    weights[i] = 1;
  }
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, size, others, weights, size, others, weights, MPI_INFO_NULL, 0, &made);
  return made;
}

int main(int argc, char** argv) {
  const dovetail_options options = {.size = sizeof options, .workers = 1};
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided != MPI_THREAD_MULTIPLE) {
    fprintf(stderr, "this MPI library has no MPI_THREAD_MULTIPLE\n");
    return 77;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &plain);
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  check(size <= MOST_RANKS, "too many ranks");
  neighbours = all_as_neighbours();
  plain_neighbours = all_as_neighbours();
  check(dovetail_runtime_create(&options, &runtime) == 0, "no runtime");
  collectives();
  matches();
  spawn(exchange, NULL, NULL);
  wait_for_all();
  spawn(some, NULL, NULL);
  wait_for_all();
  some(NULL);
  starts();
#if MPI_VERSION >= 4
  partitions();
#endif
  check(dovetail_runtime_destroy(runtime) == 0, "the runtime did not end");
  MPI_Comm_free(&plain);
  MPI_Comm_free(&neighbours);
  MPI_Comm_free(&plain_neighbours);
  MPI_Finalize();
  return 0;
}
