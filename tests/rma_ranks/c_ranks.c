/* dovetail_rma.h between real ranks: one worker, so that a call that holds it hangs. With the argument "death", rank 1 kills itself while the
 * others wait for it. */
#include <signal.h>
#include <unistd.h>

#include "c/check.h"

enum { NUMBERS = 500, ROUNDS = 100, HALO = 0, READ = 1, VICTIM = 1 };

static int rank;
static int size;
static int right;
static int left;
static dovetail_runtime* runtime;
static dovetail_rma_group* group;
static dovetail_rma_segment* segment;
static uint32_t id;

static void spawn(dovetail_fallible_body body, void (*onready)(void*), void* argument, int32_t mode, const void* data,
                  size_t bytes, dovetail_future** future) {
  const dovetail_access access = dovetail_access_memory(mode, data, bytes);
  const dovetail_task_description task = {.size = sizeof task,
                                          .fallible_body = body,
                                          .onready = onready,
                                          .argument = argument,
                                          .accesses = &access,
                                          .access_count = data != NULL,
                                          .label = "task"};
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &task, future), 0);
}

/* Each rank writes to the right one, which says when it has read: figure 8 of the paper. */
static int64_t sent[NUMBERS];
static int64_t seen[NUMBERS];
static uint32_t halo_value;

static int32_t fill(void* argument) {
  for (int i = 0; i < NUMBERS; ++i) {
    sent[i] = (int64_t)(intptr_t)argument * 1000 + i + 1000000 * rank;
  }
  return 0;
}
static void when_it_has_been_read(void* argument) {
  if ((intptr_t)argument > 0) {
    CHECK_EQUAL(dovetail_rma_notify_await(segment, READ, NULL, right), 0);
  }
}
static int32_t send_halo(void* argument) {
  return dovetail_rma_write_notify(sent, sizeof sent, right, id, 8, HALO, (uint32_t)(intptr_t)argument + 1);
}
static void when_it_has_come(void* argument) {
  (void)argument;
  CHECK_EQUAL(dovetail_rma_notify_await(segment, HALO, &halo_value, left), 0);
}
static int32_t take_halo(void* argument) {
  memcpy(seen, (char*)dovetail_rma_segment_data(segment) + 8, sizeof seen);
  CHECK_EQUAL(halo_value, (intptr_t)argument + 1);
  for (int i = 0; i < NUMBERS; ++i) {
    CHECK_EQUAL(seen[i], (intptr_t)argument * 1000 + i + 1000000 * left);
  }
  return (intptr_t)argument + 1 < ROUNDS ? dovetail_rma_notify(left, id, READ, 1) : 0;
}
static void halos(void) {
  for (intptr_t round = 0; round < ROUNDS; ++round) {
    spawn(fill, NULL, (void*)round, DOVETAIL_ACCESS_OUT, sent, sizeof sent, NULL);
    spawn(send_halo, when_it_has_been_read, (void*)round, DOVETAIL_ACCESS_IN, sent, sizeof sent, NULL);
    spawn(take_halo, when_it_has_come, (void*)round, DOVETAIL_ACCESS_OUT, seen, sizeof seen, NULL);
  }
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  CHECK_EQUAL(dovetail_rma_group_barrier(group), 0);
}

/* A task that waits, in each way, for what another task of this rank makes the left one send; there is one worker. */
static int32_t wait_for_all_kinds(void* argument) {
  uint32_t value = 0;
  uint32_t found = 0;
  CHECK_EQUAL(dovetail_rma_notify_test(segment, 9, &value), 0);
  CHECK_EQUAL(dovetail_rma_notify_wait(segment, 11, &value, left), 0);
  CHECK_EQUAL(value, 111);
  CHECK_EQUAL(dovetail_rma_notify_wait_any(segment, 12, 5, &found, &value, -1), 0);
  CHECK_EQUAL(found, 14);
  CHECK_EQUAL(value, 114);
  while (dovetail_rma_notify_test(segment, 10, &value) == 0) {
  }
  CHECK_EQUAL(value, 110);
  CHECK_EQUAL(dovetail_rma_notify_wait(segment, 17, NULL, -1), 0);
  return dovetail_rma_notify_awaitall(segment, 20, 3, argument, left);
}
static int32_t send_all_kinds(void* argument) {
  const uint32_t ids[] = {11, 14, 10, 17, 22, 20, 21};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; ++i) {
    const int32_t result = dovetail_rma_notify(right, id, ids[i], 100 + ids[i]);
    CHECK_EQUAL(result, 0);
  }
  return argument == NULL ? 0 : -EINVAL;
}
static void waits(void) {
  uint32_t values[3] = {0};
  spawn(wait_for_all_kinds, NULL, values, 0, NULL, 0, NULL);
  spawn(send_all_kinds, NULL, NULL, 0, NULL, 0, NULL);
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  for (uint32_t i = 0; i < 3; ++i) {
    CHECK_EQUAL(values[i], 120 + i);
  }
  /* Outside of tasks they block. */
  CHECK_EQUAL(dovetail_rma_notify(right, id, 5, 7), 0);
  CHECK_EQUAL(dovetail_rma_notify_wait(segment, 5, values, left), 0);
  CHECK_EQUAL(values[0], 7);
}

static void lists(void) {
  const int64_t offset = 8 * NUMBERS;
  int64_t numbers[4] = {rank + 1, rank + 2, rank + 3, rank + 4};
  dovetail_rma_transfer parts[2] = {
      {.data = numbers, .bytes = 8, .offset = offset, .rank = right, .segment = id},
      {.data = numbers + 1, .bytes = 24, .offset = offset + 64, .rank = right, .segment = id},
  };
  CHECK_EQUAL(dovetail_rma_write_list_notify(parts, 2, 30, 1), 0);
  CHECK_EQUAL(dovetail_rma_notify_wait(segment, 30, NULL, left), 0);
  const int64_t* const own = (const int64_t*)dovetail_rma_segment_data(segment) + NUMBERS;
  CHECK_EQUAL(own[0], left + 1);
  for (int i = 0; i < 3; ++i) {
    CHECK_EQUAL(own[8 + i], left + 2 + i);
  }
  memset(numbers, 0, sizeof numbers);
  CHECK_EQUAL(dovetail_rma_read_list(parts, 2), 0);
  for (int i = 0; i < 4; ++i) {
    CHECK_EQUAL(numbers[i], rank + 1 + i);
  }
  CHECK_EQUAL(dovetail_rma_group_barrier(group), 0);
  numbers[0] = 77 + rank;
  CHECK_EQUAL(dovetail_rma_write_list(parts, 1), 0);
  numbers[0] = 0;
  CHECK_EQUAL(dovetail_rma_read(numbers, 8, right, id, offset), 0);
  CHECK_EQUAL(numbers[0], 77 + rank);
  numbers[0] = 78;
  CHECK_EQUAL(dovetail_rma_write(numbers, 8, right, id, offset), 0);
  CHECK_EQUAL(dovetail_rma_group_barrier(group), 0);
  CHECK_EQUAL(own[0], 78);
}

static int32_t count_up(void* argument) {
  int64_t before = -1;
  const int32_t result = dovetail_rma_fetch_add(0, id, 0, 1, &before);
  CHECK(before >= 0);
  return argument == NULL ? result : -EINVAL;
}
static void counters(void) {
  for (int i = 0; i < 100; ++i) {
    spawn(count_up, NULL, NULL, 0, NULL, 0, NULL);
  }
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  CHECK_EQUAL(dovetail_rma_group_barrier(group), 0);
  int64_t before = 0;
  CHECK_EQUAL(dovetail_rma_fetch_add(0, id, 0, 0, &before), 0);
  CHECK_EQUAL(before, 100 * size);
  CHECK_EQUAL(dovetail_rma_group_barrier(group), 0);
  /* One of them finds what was there. */
  CHECK_EQUAL(dovetail_rma_compare_swap(0, id, 0, 100 * size, -1 - rank, &before), 0);
  CHECK(before == 100 * size || before < 0);
  const int has_swapped = before == 100 * size;
  CHECK_EQUAL(dovetail_rma_group_barrier(group), 0);
  CHECK_EQUAL(dovetail_rma_fetch_add(0, id, 0, 0, &before), 0);
  CHECK_EQUAL(before == -1 - rank, has_swapped);
}

static void refused(int32_t result, int32_t code, int32_t kind, const char* words);

static dovetail_rma_inbox* inbox;

static int32_t receive_message(void* argument) {
  int32_t from = -1;
  size_t bytes = 0;
  CHECK_EQUAL(dovetail_rma_inbox_receive(inbox, argument, sizeof(int64_t), &from, &bytes), 0);
  CHECK_EQUAL(from, left);
  CHECK_EQUAL(bytes, sizeof(int64_t));
  return 0;
}
static void messages(void) {
  enum { MESSAGES = 10 };
  int64_t received[MESSAGES] = {0};
  int64_t sum = 0;
  CHECK_EQUAL(dovetail_rma_inbox_open(group, 8, 2, &inbox), 0);
  for (int64_t i = 0; i < MESSAGES; ++i) {
    spawn(receive_message, NULL, &received[i], 0, NULL, 0, NULL);
  }
  for (int64_t i = 0; i < MESSAGES; ++i) {
    const int64_t number = 1000 * rank + i;
    CHECK_EQUAL(dovetail_rma_inbox_send(inbox, &number, sizeof number, right), 0);
  }
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  for (int64_t i = 0; i < MESSAGES; ++i) {
    sum += received[i];
  }
  CHECK_EQUAL(sum, MESSAGES * 1000 * left + MESSAGES * (MESSAGES - 1) / 2);

  int64_t number = 7;
  int32_t from = -1;
  size_t bytes = 0;
  CHECK_EQUAL(dovetail_rma_inbox_try_receive(inbox, &number, 8, &from, &bytes), 0);
  CHECK_EQUAL(dovetail_rma_inbox_send(inbox, &number, 5, rank), 0);
  refused(dovetail_rma_inbox_receive(inbox, &number, 4, &from, &bytes), -EINVAL, DOVETAIL_ERROR_ARGUMENT,
          "does not fit into 4");
  refused(dovetail_rma_inbox_receive(inbox, &number, 8, NULL, &bytes), -EINVAL, DOVETAIL_ERROR_ARGUMENT,
          "'rank' is null");
  CHECK_EQUAL(dovetail_rma_inbox_try_receive(inbox, &number, 8, &from, &bytes), 1);
  CHECK_EQUAL(from, rank);
  CHECK_EQUAL(bytes, 5);
  refused(dovetail_rma_inbox_send(inbox, &number, 9, right), -EINVAL, DOVETAIL_ERROR_ARGUMENT, "longer than the 8");
  refused(dovetail_rma_inbox_send(NULL, &number, 8, right), -EINVAL, DOVETAIL_ERROR_ARGUMENT, "'inbox' is null");
  dovetail_rma_inbox* other = NULL;
  refused(dovetail_rma_inbox_open(group, 8, 0, &other), -EINVAL, DOVETAIL_ERROR_ARGUMENT, "1 to 1024");
  CHECK_EQUAL(dovetail_rma_group_barrier(group), 0);
}

static void program_memory(void) {
  static int64_t memory[16];
  dovetail_rma_segment* used = NULL;
  dovetail_rma_segment* none = NULL;
  CHECK_EQUAL(dovetail_rma_segment_use(group, memory, sizeof memory, 4, &used), 0);
  CHECK(dovetail_rma_segment_data(used) == memory && dovetail_rma_segment_size(used) == sizeof memory);
  CHECK_EQUAL(dovetail_rma_segment_use(group, NULL, 0, 4, &none), 0);
  const uint32_t its = (uint32_t)dovetail_rma_segment_id(used);
  int64_t number = 500 + rank;
  CHECK_EQUAL(dovetail_rma_write_notify(&number, 8, right, its, 24, 3, 1), 0);
  CHECK_EQUAL(dovetail_rma_notify_wait(used, 3, NULL, left), 0);
  CHECK_EQUAL(memory[3], 500 + left);
  CHECK_EQUAL(dovetail_rma_read(&number, 8, right, its, 24), 0);
  CHECK_EQUAL(number, 500 + rank);
  refused(dovetail_rma_fetch_add(right, its, 8, 1, &number), -EINVAL, DOVETAIL_ERROR_ARGUMENT,
          "memory of the program's own");
  refused(dovetail_rma_write(&number, 8, right, its, 121), -EINVAL, DOVETAIL_ERROR_ARGUMENT, "which has 128");
  CHECK_EQUAL(dovetail_rma_group_barrier(group), 0);
}

static void refused(int32_t result, int32_t code, int32_t kind, const char* words) {
  CHECK_EQUAL(result, code);
  CHECK_EQUAL(dovetail_error_kind(), kind);
  CHECK_CONTAINS(dovetail_error_message(), words);
  CHECK_EQUAL(dovetail_error_rank(), -1);
}
static int32_t waits_twice(void* argument) {
  CHECK_EQUAL(dovetail_rma_notify_await(segment, 50, argument, -1), 0);
  refused(dovetail_rma_notify_wait(segment, 50, NULL, -1), -EPERM, DOVETAIL_ERROR_CONTEXT, "waited for already");
  return dovetail_rma_notify(rank, id, 50, 5);
}
static void errors(void) {
  int64_t number = 0;
  uint32_t value = 0;
  dovetail_rma_segment* other = NULL;
  dovetail_rma_group* second = NULL;
  const dovetail_rma_transfer parts[2] = {{.rank = 0, .segment = id}, {.rank = size, .segment = id}};
  const int32_t argument = DOVETAIL_ERROR_ARGUMENT;
  refused(dovetail_rma_write(&number, 8, size, id, 0), -EINVAL, argument, "none of the group's");
  refused(dovetail_rma_write(&number, 8, -1, id, 0), -EINVAL, argument, "dovetail_rma_write: rank -1");
  refused(dovetail_rma_write(&number, 8, 0, id, 1 << 20), -EINVAL, argument, "are beyond segment 0 of rank 0");
  refused(dovetail_rma_write(&number, 8, 0, id, -8), -EINVAL, argument, "'offset' is -8");
  refused(dovetail_rma_write(NULL, 8, 0, id, 0), -EINVAL, argument, "'data' is null");
  CHECK_EQUAL(dovetail_rma_write(NULL, 0, 0, id, 0), 0);
  refused(dovetail_rma_read(&number, 8, 0, 9, 0), -EINVAL, argument, "rank 0 has no segment 9");
  refused(dovetail_rma_read(&number, 8, 0, 300, 0), -EINVAL, argument, "segment 300");
  refused(dovetail_rma_notify(0, id, 100, 1), -EINVAL, argument, "notification 100 is beyond segment 0");
  refused(dovetail_rma_notify(0, id, 1, 0), -EINVAL, argument, "the value 0");
  refused(dovetail_rma_write_list(NULL, 1), -EINVAL, argument, "'parts' is null");
  refused(dovetail_rma_write_list_notify(NULL, 0, 1, 1), -EINVAL, argument, "at least one part");
  refused(dovetail_rma_write_list_notify(parts, 2, 1, 1), -EINVAL, argument, "it is for one");
  refused(dovetail_rma_fetch_add(0, id, 4, 1, &number), -EINVAL, argument, "multiple of 8");
  refused(dovetail_rma_fetch_add(0, id, 0, 1, NULL), -EINVAL, argument, "'before' is null");
  refused(dovetail_rma_notify_wait(segment, 1, &value, size), -EINVAL, argument, "none of the group's");
  refused(dovetail_rma_notify_wait(NULL, 1, &value, -1), -EINVAL, argument, "'segment' is null");
  refused(dovetail_rma_notify_wait_any(segment, 99, 2, &value, NULL, -1), -EINVAL, argument, "which has 100");
  refused(dovetail_rma_segment_use(group, NULL, 8, 1, &other), -EINVAL, argument, "'data' is null");
  refused(dovetail_rma_segment_allocate(group, 8, 1u << 25, &other), -EINVAL, argument, "at most 2^24");
  refused(dovetail_rma_notify_await(segment, 1, NULL, -1), -EPERM, DOVETAIL_ERROR_CONTEXT, "outside of one");
  refused(dovetail_rma_group_start(NULL, &second), -EPERM, DOVETAIL_ERROR_CONTEXT, "a group already");
  refused(dovetail_rma_group_barrier(NULL), -EINVAL, argument, "'group' is null");
  spawn(waits_twice, NULL, &value, 0, NULL, 0, NULL);
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  CHECK_EQUAL(value, 5);
  CHECK(other == NULL && second == NULL);
}

static int32_t waits_for_ended(void* argument) { return dovetail_rma_notify_wait(argument, 2, NULL, -1); }
static void ends(void) {
  dovetail_rma_segment* brief = NULL;
  dovetail_rma_segment* next = NULL;
  CHECK_EQUAL(dovetail_rma_segment_allocate(group, 64, 4, &brief), 0);
  const uint32_t its = (uint32_t)dovetail_rma_segment_id(brief);
  int64_t number = 7;
  CHECK_EQUAL(dovetail_rma_write_notify(&number, 8, right, its, 0, 1, 1), 0);
  CHECK_EQUAL(dovetail_rma_notify_wait(brief, 1, NULL, left), 0);
  if (size > 1) {
    refused(dovetail_rma_segment_end(brief, rank == 0 ? "it is read" : NULL), -ENOTRECOVERABLE, DOVETAIL_ERROR_OTHER,
            "Rank 0 cannot end segment");
  }
  dovetail_future* waiting = NULL;
  spawn(waits_for_ended, NULL, brief, 0, NULL, 0, &waiting);
  CHECK_EQUAL(dovetail_rma_segment_end(brief, NULL), 0);
  CHECK_EQUAL(dovetail_rma_segment_size(brief), 0);
  CHECK(dovetail_rma_segment_data(brief) == NULL);
  CHECK(dovetail_future_get(waiting) < 0);
  dovetail_future_release(waiting);
  dovetail_error_clear();
  refused(dovetail_rma_segment_end(brief, NULL), -EINVAL, DOVETAIL_ERROR_ARGUMENT, "has been ended");
  refused(dovetail_rma_notify_test(brief, 1, NULL), -EINVAL, DOVETAIL_ERROR_ARGUMENT, "has been ended");
  refused(dovetail_rma_write(&number, 8, right, its, 0), -EINVAL, DOVETAIL_ERROR_ARGUMENT, "or has been ended");
  refused(dovetail_rma_segment_end(NULL, NULL), -EINVAL, DOVETAIL_ERROR_ARGUMENT, "'segment' is null");
  CHECK_EQUAL(dovetail_rma_segment_allocate(group, 64, 4, &next), 0);
  CHECK(dovetail_rma_segment_id(next) == (int32_t)its + 1);
  CHECK_EQUAL(dovetail_rma_segment_end(next, ""), 0);
}

static int32_t wait_for_victim(void* argument) {
  return argument == NULL ? dovetail_rma_notify_await(segment, 60, NULL, VICTIM)
                          : dovetail_rma_notify_wait(segment, 61, NULL, VICTIM);
}
static void check_death(int32_t result) {
  CHECK_EQUAL(result, -ECONNRESET);
  CHECK_EQUAL(dovetail_error_rank(), VICTIM);
  CHECK_CONTAINS(dovetail_error_message(), "rank 1 (process ");
  CHECK_CONTAINS(dovetail_error_message(), "has died");
}
static void death(void) {
  if (rank == VICTIM) {
    for (int other = 0; other < size; ++other) {
      if (other != rank) {
        CHECK_EQUAL(dovetail_rma_notify_wait(segment, (uint32_t)other, NULL, other), 0);
      }
    }
    raise(SIGKILL);
  }
  dovetail_future* bound = NULL;
  dovetail_future* pauses = NULL;
  spawn(wait_for_victim, NULL, NULL, 0, NULL, 0, &bound);
  spawn(wait_for_victim, NULL, &pauses, 0, NULL, 0, &pauses);
  CHECK_EQUAL(dovetail_rma_notify(VICTIM, id, (uint32_t)rank, 1), 0);
  check_death(dovetail_future_get(bound));
  CHECK_EQUAL(dovetail_error_kind(), DOVETAIL_ERROR_TASK);
  check_death(dovetail_future_get(pauses));
  dovetail_error_clear();
  int64_t number = 0;
  check_death(dovetail_rma_write(&number, 8, VICTIM, id, 0));
  CHECK_EQUAL(dovetail_error_kind(), DOVETAIL_ERROR_PEER);
  dovetail_future_release(bound);
  dovetail_future_release(pauses);
  printf("rank %d: told\n", rank);
}

int main(int count, char** arguments) {
  const dovetail_rma_options options = {.size = sizeof options, .start_timeout_ms = 30000};
  CHECK_EQUAL(dovetail_rma_group_start(&options, &group), 0);
  rank = dovetail_rma_group_rank(group);
  size = dovetail_rma_group_size(group);
  right = (rank + 1) % size;
  left = (rank + size - 1) % size;
  CHECK_EQUAL(dovetail_rma_segment_allocate(group, 8 * NUMBERS + 128, 100, &segment), 0);
  CHECK_EQUAL(dovetail_rma_segment_size(segment), 8 * NUMBERS + 128);
  CHECK_EQUAL(dovetail_rma_segment_notifications(segment), 100);
  id = (uint32_t)dovetail_rma_segment_id(segment);
  CHECK_CONTAINS(dovetail_rma_group_transport(group, rank), "this process");
  const char* const transport = getenv("DOVETAIL_TEST_TRANSPORT");
  // On two nodes, the even ranks run on one, and the odd ones on the other.
  const char* const wanted = transport != NULL && (rank + right) % 2 == 1 ? transport : "shared memory";
  CHECK(size == 1 || strncmp(dovetail_rma_group_transport(group, right), wanted, strlen(wanted)) == 0);
  CHECK(dovetail_rma_group_transport(group, size) == NULL);
  runtime = start_runtime(1);
  if (count > 1 && strcmp(arguments[1], "death") == 0) {
    death();
  } else {
    halos();
    waits();
    lists();
    counters();
    messages();
    program_memory();
    errors();
    ends();
    CHECK_EQUAL(dovetail_rma_group_barrier(group), 0);
  }
  dovetail_runtime_destroy(runtime);
  dovetail_rma_group_end(group);
  CHECK_EQUAL(dovetail_rma_notify(0, 0, 1, 1), -EPERM);
  CHECK_CONTAINS(dovetail_error_message(), "There is no group");
  return 0;
}
