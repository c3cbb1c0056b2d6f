/* Messages of OpenMP tasks with `detach` between real ranks. Tasks with dependences are made by the primary thread (`masked`), as in
 * tests/openmp. */
#include <dovetail_omp_mpi.h>
#include <errno.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 5000, BLOCKS = 8, ROUNDS = 20 };

static int rank;
static int size;
static int next;
static int previous;
static int sent[BLOCKS][NUMBERS];
static int received[BLOCKS][NUMBERS];
static MPI_Status statuses[BLOCKS][2];

static void check(int holds, const char* what) {
  if (!holds) {
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void fill(int block, int round) {
  for (int i = 0; i < NUMBERS; ++i) {
    sent[block][i] = 100 * round + 10 * block + i + rank;
  }
}

static void look(int block, int round) {
  for (int i = 0; i < NUMBERS; ++i) {
    check(received[block][i] == 100 * round + 10 * block + i + previous, "a task read what had not been received");
  }
  check(statuses[block][0].MPI_SOURCE == previous && statuses[block][0].MPI_TAG == block, "a status is wrong");
}

/* Both halves of a block by one call. */
static void receive(omp_event_handle_t event, int block) {
  MPI_Request requests[2];
  dovetail_omp_task* io = dovetail_omp_begin(event);
  memset(received[block], 0, sizeof received[block]);
  MPI_Irecv(received[block], NUMBERS / 2, MPI_INT, MPI_ANY_SOURCE, block, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(received[block] + NUMBERS / 2, NUMBERS / 2, MPI_INT, previous, BLOCKS + block, MPI_COMM_WORLD,
            &requests[1]);
  dovetail_omp_mpi_iwaitall(io, 2, requests, statuses[block]);
  check(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL, "a request was not taken over");
  dovetail_omp_end(io);
}

static void send_block(omp_event_handle_t event, int block) {
  MPI_Request request;
  dovetail_omp_task* io = dovetail_omp_begin(event);
  MPI_Issend(sent[block] + NUMBERS / 2, NUMBERS / 2, MPI_INT, next, BLOCKS + block, MPI_COMM_WORLD, &request);
  dovetail_omp_mpi_iwait(io, &request, MPI_STATUS_IGNORE);
  MPI_Isend(sent[block], NUMBERS / 2, MPI_INT, next, block, MPI_COMM_WORLD, &request);
  dovetail_omp_mpi_iwait(io, &request, MPI_STATUS_IGNORE);
  dovetail_omp_end(io);
}

static void messages(void) {
#pragma omp parallel
#pragma omp masked
  for (int round = 0; round < ROUNDS; ++round) {
    for (int block = 0; block < BLOCKS; ++block) {
#pragma omp task depend(out : sent[block]) firstprivate(block, round)
      fill(block, round);
      omp_event_handle_t was_sent;
#pragma omp task depend(in : sent[block]) detach(was_sent) firstprivate(block)
      send_block(was_sent, block);
      omp_event_handle_t was_received;
#pragma omp task depend(out : received[block]) detach(was_received) firstprivate(block)
      receive(was_received, block);
#pragma omp task depend(in : received[block]) firstprivate(block, round)
      look(block, round);
    }
  }
}

static char text[512];
static void keep(const dovetail_omp_error* error, void* argument) {
  check(error->error == -EIO && argument == text, "another error");
  snprintf(text, sizeof text, "%s", error->message);
}

static void too_much(omp_event_handle_t event, int* status) {
  static int one;
  static const int four[4];
  MPI_Request requests[2];
  dovetail_omp_task* io = dovetail_omp_begin(event);
  if (status != NULL) {
    dovetail_omp_set_status(io, status);
  }
  /* In this order: of a message to itself for which a receive waits, Open MPI does not say that it is too long. */
  MPI_Isend(four, 4, MPI_INT, next, 100, MPI_COMM_WORLD, &requests[1]);
  MPI_Irecv(&one, 1, MPI_INT, previous, 100, MPI_COMM_WORLD, &requests[0]);
  dovetail_omp_mpi_iwaitall(io, 2, requests, MPI_STATUSES_IGNORE);
  dovetail_omp_end(io);
}

static void errors(void) {
  int status = 1;
  dovetail_omp_set_error_handler(keep, text);
#pragma omp parallel
#pragma omp masked
  {
    omp_event_handle_t first;
#pragma omp task detach(first)
    too_much(first, NULL);
#pragma omp taskwait
    omp_event_handle_t second;
#pragma omp task detach(second) shared(status)
    too_much(second, &status);
#pragma omp taskwait
  }
  check(strstr(text, "MPI_Wait: ") == text && strstr(text, "runcated") != NULL, text);
  check(status == -EIO, "the error did not go to the task's own location");
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided != MPI_THREAD_MULTIPLE) {
    fprintf(stderr, "this MPI library has no MPI_THREAD_MULTIPLE\n");
    return 77;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  messages();
  errors();
  MPI_Finalize();
  return 0;
}
