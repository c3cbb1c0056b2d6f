/* dovetail_mpi.h between real ranks: one worker, so that a call that holds it hangs. Bodies that fail return their error, and main looks. */
#include <dovetail/dovetail.h>
#include <dovetail/dovetail_mpi.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBERS = 3000, MESSAGES = 8, ROUNDS = 50 };

static int rank;
static int size;
static int next;
static int previous;
static dovetail_runtime* runtime;

static void check(int holds, const char* what) {
  if (!holds) {
    fprintf(stderr, "rank %d: %s (last error: %s)\n", rank, what, dovetail_error_message());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static void spawn(dovetail_fallible_body body, void* argument, int32_t mode, const void* data, size_t bytes,
                  dovetail_future** future) {
  const dovetail_access access = dovetail_access_memory(mode, data, bytes);
  const dovetail_task_description task = {.size = sizeof task,
                                          .fallible_body = body,
                                          .argument = argument,
                                          .accesses = &access,
                                          .access_count = data != NULL,
                                          .label = "task"};
  check(dovetail_runtime_spawn(runtime, &task, future) == 0, "spawning");
}

static void wait_for_all(void) { check(dovetail_runtime_wait(runtime) == 0, "a task failed"); }

/* What is received is there when a task that reads it begins. */
static int sent[NUMBERS];
static int received[NUMBERS];
static MPI_Status status;
static int round_number;

static int32_t fill(void* argument) {
  for (int i = 0; i < NUMBERS; ++i) {
    sent[i] = round_number + i + rank;
  }
  return argument == NULL ? 0 : -EINVAL;
}
static int32_t bound_send(void* argument) {
  (void)argument;
  return round_number % 2 == 0 ? dovetail_mpi_isend(sent, NUMBERS, MPI_INT, next, 1, MPI_COMM_WORLD)
                               : dovetail_mpi_issend(sent, NUMBERS, MPI_INT, next, 1, MPI_COMM_WORLD);
}
static int32_t bound_receive(void* argument) {
  (void)argument;
  memset(received, 0, sizeof received);
  return dovetail_mpi_irecv(received, NUMBERS, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
}
static int32_t look(void* argument) {
  (void)argument;
  check(status.MPI_SOURCE == previous && status.MPI_TAG == 1, "the status is wrong");
  for (int i = 0; i < NUMBERS; ++i) {
    check(received[i] == round_number + i + previous, "a task read what had not been received");
  }
  return 0;
}
static void bound_messages(void) {
  for (round_number = 0; round_number < ROUNDS; ++round_number) {
    spawn(fill, NULL, DOVETAIL_ACCESS_OUT, sent, sizeof sent, NULL);
    spawn(bound_send, NULL, DOVETAIL_ACCESS_IN, sent, sizeof sent, NULL);
    spawn(bound_receive, NULL, DOVETAIL_ACCESS_OUT, received, sizeof received, NULL);
    spawn(look, NULL, DOVETAIL_ACCESS_IN, received, sizeof received, NULL);
    wait_for_all();
    MPI_Barrier(MPI_COMM_WORLD); /* the tag is any */
  }
}

/* Each task waits for what another one of this rank makes the neighbour send. */
static int numbers[MESSAGES];
static int32_t receive_one(void* argument) {
  const int tag = (int)(intptr_t)argument;
  return dovetail_mpi_recv(&numbers[tag], 1, MPI_INT, previous, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static int32_t send_one(void* argument) {
  const int tag = (int)(intptr_t)argument;
  const int value = 100 * tag + rank;
  return tag % 2 == 0 ? dovetail_mpi_send(&value, 1, MPI_INT, next, tag, MPI_COMM_WORLD)
                      : dovetail_mpi_ssend(&value, 1, MPI_INT, next, tag, MPI_COMM_WORLD);
}
static void suspending_messages(void) {
  for (intptr_t tag = 0; tag < MESSAGES; ++tag) {
    spawn(receive_one, (void*)tag, 0, NULL, 0, NULL);
  }
  for (intptr_t tag = MESSAGES - 1; tag >= 0; --tag) {
    spawn(send_one, (void*)tag, 0, NULL, 0, NULL);
  }
  wait_for_all();
  for (int tag = 0; tag < MESSAGES; ++tag) {
    check(numbers[tag] == 100 * tag + previous, "a message went to another task");
  }
}

/* The first of several, and all of them. */
static int values[2 * MESSAGES];
static MPI_Status statuses[MESSAGES];
static int32_t several(void* argument) {
  MPI_Request requests[2 * MESSAGES];
  int own[MESSAGES];
  int32_t answer = 0;
  (void)argument;
  for (int i = 0; i < MESSAGES; ++i) {
    MPI_Irecv(&values[i], 1, MPI_INT, previous, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Irecv(&values[MESSAGES + i], 1, MPI_INT, previous, MESSAGES + i, MPI_COMM_WORLD, &requests[MESSAGES + i]);
  }
  for (int i = 0; i < MESSAGES; ++i) {
    int place = -1;
    MPI_Status first;
    own[i] = 7 * i + rank;
    answer = dovetail_mpi_send(&own[i], 1, MPI_INT, next, i, MPI_COMM_WORLD);
    check(answer == 0, "a send failed");
    answer = dovetail_mpi_waitany(MESSAGES, requests, &place, &first);
    check(answer == 0 && place == i && first.MPI_TAG == i && requests[i] == MPI_REQUEST_NULL, "not the first");
  }
  answer = dovetail_mpi_iwaitall(MESSAGES / 2, requests + MESSAGES, statuses);
  check(answer == 0 && requests[MESSAGES] == MPI_REQUEST_NULL, "a request was not taken over");
  answer = dovetail_mpi_iwait(&requests[MESSAGES + MESSAGES / 2], MPI_STATUS_IGNORE);
  check(answer == 0, "a request was not bound");
  for (int i = 0; i < MESSAGES; ++i) {
    MPI_Isend(&own[i], 1, MPI_INT, next, MESSAGES + i, MPI_COMM_WORLD, &requests[i]);
  }
  answer = dovetail_mpi_waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
  for (int i = MESSAGES / 2 + 1; answer == 0 && i < MESSAGES; ++i) {
    answer = dovetail_mpi_wait(&requests[MESSAGES + i], &statuses[i]);
  }
  return answer;
}
static void requests_of_the_program(void) {
  spawn(several, NULL, 0, NULL, 0, NULL);
  wait_for_all();
  for (int i = 0; i < MESSAGES; ++i) {
    check(values[i] == 7 * i + previous && values[MESSAGES + i] == 7 * i + previous, "a value is wrong");
    check(i == MESSAGES / 2 || (statuses[i].MPI_TAG == MESSAGES + i && statuses[i].MPI_SOURCE == previous),
          "one of several statuses is wrong");
  }
}

/* Bound and suspending in turn: the order is the same in all ranks. */
static int results[8];
static int32_t all_collectives(void* argument) {
  const int one = rank + 1;
  int32_t answer = 0;
  (void)argument;
  results[0] = rank == 0 ? 41 : 0;
  results[1] = rank == size - 1 ? 42 : 0;
  answer |= dovetail_mpi_ibarrier(MPI_COMM_WORLD);
  answer |= dovetail_mpi_barrier(MPI_COMM_WORLD);
  answer |= dovetail_mpi_ibcast(&results[0], 1, MPI_INT, 0, MPI_COMM_WORLD);
  answer |= dovetail_mpi_bcast(&results[1], 1, MPI_INT, size - 1, MPI_COMM_WORLD);
  check(results[1] == 42, "bcast");
  answer |= dovetail_mpi_reduce(&one, &results[2], 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  check(rank != 0 || results[2] == size * (size + 1) / 2, "reduce");
  answer |= dovetail_mpi_allreduce(&one, &results[3], 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  check(results[3] == size, "allreduce");
  answer |= dovetail_mpi_ireduce(&results[3], &results[4], 1, MPI_INT, MPI_SUM, size - 1, MPI_COMM_WORLD);
  answer |= dovetail_mpi_iallreduce(&results[3], &results[5], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return answer;
}
static void collectives(void) {
  spawn(all_collectives, NULL, 0, NULL, 0, NULL);
  wait_for_all();
  check(results[0] == 41, "ibcast");
  check(rank != size - 1 || results[4] == size * size, "ireduce");
  check(results[5] == size * size, "iallreduce");
}

static MPI_Request persistent_requests[2];
static int32_t start(void* argument) {
  const int place = (int)(intptr_t)argument;
  return dovetail_mpi_start(persistent_requests[place], place == 1 ? &status : MPI_STATUS_IGNORE);
}
static void persistent(void) {
  MPI_Send_init(sent, NUMBERS, MPI_INT, next, 1, MPI_COMM_WORLD, &persistent_requests[0]);
  MPI_Recv_init(received, NUMBERS, MPI_INT, previous, 1, MPI_COMM_WORLD, &persistent_requests[1]);
  for (round_number = 0; round_number < ROUNDS; ++round_number) {
    spawn(fill, NULL, DOVETAIL_ACCESS_OUT, sent, sizeof sent, NULL);
    spawn(start, (void*)(intptr_t)0, DOVETAIL_ACCESS_IN, sent, sizeof sent, NULL);
    spawn(start, (void*)(intptr_t)1, DOVETAIL_ACCESS_OUT, received, sizeof received, NULL);
    spawn(look, NULL, DOVETAIL_ACCESS_IN, received, sizeof received, NULL);
    wait_for_all();
  }
  MPI_Request_free(&persistent_requests[0]);
  MPI_Request_free(&persistent_requests[1]);
}

static int32_t send_four(void* argument) {
  static const int four[4];
  (void)argument;
  return dovetail_mpi_isend(four, 4, MPI_INT, next, 9, MPI_COMM_WORLD);
}
static int32_t receive_too_much(void* argument) {
  static int one;
  return argument == NULL ? dovetail_mpi_irecv(&one, 1, MPI_INT, previous, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
                          : dovetail_mpi_recv(&one, 1, MPI_INT, previous, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void errors(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(dovetail_mpi_iwait(&request, MPI_STATUS_IGNORE) == -EPERM &&
            strstr(dovetail_error_message(), "outside of one") != NULL,
        "a request was bound to no task");
  for (intptr_t suspends = 0; suspends < 2; ++suspends) {
    dovetail_future* failed = NULL;
    char expected[64];
    int its_class = 0;
    snprintf(expected, sizeof expected, "MPI_%secv from rank %d with tag 9 in MPI_COMM_WORLD", suspends ? "R" : "Ir",
             previous);
    spawn(send_four, NULL, 0, NULL, 0, NULL);
    spawn(receive_too_much, (void*)suspends, 0, NULL, 0, &failed);
    check(dovetail_future_get(failed) == -EIO, "a message that is too long was received");
    check(strstr(dovetail_error_message(), expected) != NULL, "the error does not say what it was");
    MPI_Error_class(dovetail_error_mpi_code(), &its_class);
    check(its_class == MPI_ERR_TRUNCATE, "the error has not MPI's code");
    check(strncmp(dovetail_error_operation(), "MPI_", 4) == 0, "the error does not name the call");
    dovetail_future_release(failed);
    wait_for_all();
  }
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
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  check(dovetail_runtime_create(&options, &runtime) == 0, "no runtime");
  bound_messages();
  suspending_messages();
  requests_of_the_program();
  collectives();
  persistent();
  errors();
  check(dovetail_runtime_destroy(runtime) == 0, "the runtime did not end");
  MPI_Finalize();
  return 0;
}
