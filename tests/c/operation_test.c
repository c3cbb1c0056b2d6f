// Operations of a polling service, and descriptors: what a message library in C would do.
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "check.h"

enum { most_messages = 64 };

// A library that can only be asked. `arrived` messages are there; each operation in `waiting` takes one.
struct Mailbox {
  dovetail_polling* polling;
  atomic_int arrived;
  atomic_int polls;
  int taken;
  int count;
  dovetail_operation* waiting[most_messages];
  atomic_flag busy;
};

static void enter(struct Mailbox* mailbox) {
  while (atomic_flag_test_and_set(&mailbox->busy)) {
  }
}
static void leave(struct Mailbox* mailbox) { atomic_flag_clear(&mailbox->busy); }

static size_t poll_mailbox(void* argument) {
  struct Mailbox* const mailbox = argument;
  CHECK_EQUAL(dovetail_task_active(), 0);
  atomic_fetch_add(&mailbox->polls, 1);
  enter(mailbox);
  while (mailbox->taken < mailbox->count && mailbox->taken < atomic_load(&mailbox->arrived)) {
    dovetail_operation* const operation = mailbox->waiting[mailbox->taken++];
    CHECK_EQUAL(dovetail_operation_complete(operation), 0);
    dovetail_operation_release(operation);
  }
  leave(mailbox);
  return 0;
}

static dovetail_operation* begin(struct Mailbox* mailbox) {
  dovetail_operation* operation = NULL;
  CHECK_EQUAL(dovetail_polling_expect(mailbox->polling, "a message of rank 1", &operation), 0);
  return operation;
}

// Gives the mailbox a share of the operation, which may end from now on.
static void hand_in(struct Mailbox* mailbox, dovetail_operation* operation) {
  CHECK_EQUAL(dovetail_operation_retain(operation), 0);
  enter(mailbox);
  mailbox->waiting[mailbox->count++] = operation;
  leave(mailbox);
}

static dovetail_operation* expect(struct Mailbox* mailbox) {
  dovetail_operation* const operation = begin(mailbox);
  hand_in(mailbox, operation);
  return operation;
}

static int32_t receive(void* argument) {
  dovetail_operation* const operation = expect(argument);
  const int32_t result = dovetail_operation_wait(operation, -1);
  dovetail_operation_release(operation);
  return result;
}

static int32_t receive_bound(void* argument) {
  dovetail_operation* const operation = begin(argument);
  CHECK_EQUAL(dovetail_operation_bind(operation), 0);
  CHECK_EQUAL(dovetail_operation_wait(operation, 0), -EPERM);
  CHECK_CONTAINS(dovetail_error_message(), "a message of rank 1");
  hand_in(argument, operation);
  dovetail_operation_release(operation);
  return 7;
}

static int32_t receive_in_time(void* argument) {
  dovetail_operation* const operation = expect(argument);
  int32_t result = 0;
  do {
    result = dovetail_operation_wait(operation, 1000);
  } while (result == 0);
  dovetail_operation_release(operation);
  return result;
}

static void test_messages(dovetail_runtime* runtime) {
  static struct Mailbox mailbox = {.busy = ATOMIC_FLAG_INIT};
  CHECK_EQUAL(dovetail_polling_create(runtime, "mailbox", 0, 0, poll_mailbox, &mailbox, -1, &mailbox.polling), 0);
  dovetail_fallible_body bodies[] = {receive, receive_bound, receive_in_time};
  const int32_t results[] = {1, 7, 1};
  dovetail_future* futures[30];
  for (int i = 0; i < 30; ++i) {
    const dovetail_task_description task = describe(bodies[i % 3], &mailbox);
    CHECK_EQUAL(dovetail_runtime_spawn(runtime, &task, &futures[i]), 0);
  }
  while (atomic_load(&mailbox.polls) < 3) {
  }
  for (int i = 0; i < 30; ++i) {
    CHECK_EQUAL(dovetail_future_ready(futures[i]), 0);
  }
  CHECK_EQUAL(dovetail_polling_destroy(mailbox.polling), -EBUSY);
  atomic_store(&mailbox.arrived, most_messages);
  for (int i = 0; i < 30; ++i) {
    CHECK_EQUAL(dovetail_future_get(futures[i]), results[i % 3]);
    dovetail_future_release(futures[i]);
  }
  CHECK_EQUAL(dovetail_polling_pending(mailbox.polling), 0);
  CHECK_EQUAL(dovetail_polling_destroy(mailbox.polling), 0);
}

static size_t never(void* argument) {
  (void)argument;
  return 0;
}

static int32_t wait_too_short(void* argument) {
  CHECK_EQUAL(dovetail_operation_wait(argument, 1000000), 0);
  CHECK_EQUAL(dovetail_operation_wait(argument, 0), 0);
  return 3;
}

static int32_t wait_in_vain(void* argument) { return dovetail_operation_wait(argument, -1); }

static void test_failing_operations(dovetail_runtime* runtime) {
  dovetail_polling* polling = NULL;
  CHECK_EQUAL(dovetail_polling_create(runtime, NULL, 0, 0, never, NULL, -1, &polling), 0);
  dovetail_operation* operation = NULL;
  CHECK_EQUAL(dovetail_polling_expect(polling, "a parcel", &operation), 0);
  CHECK_EQUAL(dovetail_operation_fail(operation, 0, NULL), -EINVAL);
  CHECK_EQUAL(run_task(runtime, wait_too_short, operation), 3);
  dovetail_future* future = NULL;
  const dovetail_task_description task = describe(wait_in_vain, operation);
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &task, &future), 0);
  CHECK_EQUAL(dovetail_operation_fail(operation, -ECONNRESET, "rank 1 has gone"), 0);
  CHECK_EQUAL(dovetail_operation_complete(operation), 0);  // too late
  CHECK_EQUAL(dovetail_future_get(future), -ECONNRESET);
  CHECK_CONTAINS(dovetail_error_message(), "rank 1 has gone");
  dovetail_future_release(future);
  dovetail_operation_release(operation);

  // An operation whose last reference has been dropped fails, and no longer counts.
  CHECK_EQUAL(dovetail_polling_expect(polling, "a letter", &operation), 0);
  CHECK_EQUAL(dovetail_polling_pending(polling), 1);
  dovetail_operation_release(operation);
  CHECK_EQUAL(dovetail_polling_pending(polling), 0);

  CHECK_EQUAL(dovetail_polling_expect(polling, NULL, &operation), -EINVAL);
  CHECK_EQUAL(dovetail_polling_expect(NULL, "", &operation), -EINVAL);
  CHECK_EQUAL(dovetail_polling_expect(polling, "", NULL), -EINVAL);
  CHECK_EQUAL(dovetail_operation_wait(NULL, 0), -EINVAL);
  CHECK_EQUAL(dovetail_operation_bind(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_operation_complete(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_operation_retain(NULL), -EINVAL);
  dovetail_operation_release(NULL);
  CHECK_EQUAL(dovetail_polling_expect(polling, "nothing", &operation), 0);
  CHECK_EQUAL(dovetail_operation_wait(operation, -1), -EPERM);
  CHECK_EQUAL(dovetail_operation_wait(operation, 1), -EPERM);
  CHECK_EQUAL(dovetail_operation_bind(operation), -EPERM);
  dovetail_operation_release(operation);
  CHECK_EQUAL(dovetail_polling_destroy(polling), 0);
}

struct Bell {
  int ends[2];
  dovetail_operation* operation;
  atomic_int rung;
};

static size_t poll_bell(void* argument) {
  struct Bell* const bell = argument;
  char byte = 0;
  if (read(bell->ends[0], &byte, 1) == 1) {
    atomic_fetch_add(&bell->rung, 1);
    CHECK_EQUAL(dovetail_operation_complete(bell->operation), 0);
  }
  return 0;
}

// The interval is an hour: only the descriptor can call the function in time.
static void test_descriptor_of_a_service(dovetail_runtime* runtime) {
  struct Bell bell = {.rung = 0};
  CHECK_EQUAL(pipe(bell.ends), 0);
  const int64_t hour = INT64_C(3600000000000);
  dovetail_polling* polling = NULL;
  CHECK_EQUAL(dovetail_polling_create(runtime, "bell", hour, hour, poll_bell, &bell, bell.ends[0], &polling), 0);
  CHECK_EQUAL(dovetail_polling_expect(polling, "the bell", &bell.operation), 0);
  dovetail_future* future = NULL;
  const dovetail_task_description task = describe(wait_in_vain, bell.operation);
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &task, &future), 0);
  CHECK_EQUAL(write(bell.ends[1], "x", 1), 1);
  CHECK_EQUAL(dovetail_future_get(future), 1);
  CHECK_EQUAL(atomic_load(&bell.rung), 1);
  dovetail_future_release(future);
  dovetail_operation_release(bell.operation);
  CHECK_EQUAL(dovetail_polling_destroy(polling), 0);
  close(bell.ends[0]);
  close(bell.ends[1]);
}

static int32_t read_when_ready(void* argument) {
  const int* const ends = argument;
  CHECK_EQUAL(dovetail_task_wait_readable(ends[0], 1000000), 0);
  CHECK_EQUAL(dovetail_task_wait_writable(ends[1], -1), 1);
  CHECK_EQUAL(write(ends[1], "y", 1), 1);
  CHECK_EQUAL(dovetail_task_wait_readable(ends[0], -1), 1);
  CHECK_EQUAL(dovetail_task_wait_readable(-1, 0), -EBADF);
  return 5;
}

static void test_descriptors(dovetail_runtime* runtime) {
  int ends[2];
  CHECK_EQUAL(pipe(ends), 0);
  CHECK_EQUAL(run_task(runtime, read_when_ready, ends), 5);
  CHECK_EQUAL(dovetail_task_wait_readable(ends[0], 0), -EPERM);
  CHECK_EQUAL(dovetail_task_wait_writable(ends[1], 0), -EPERM);
  close(ends[0]);
  close(ends[1]);
}

int main(void) {
  dovetail_runtime* const runtime = start_runtime(2);
  test_messages(runtime);
  test_failing_operations(runtime);
  test_descriptor_of_a_service(runtime);
  test_descriptors(runtime);
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
  return 0;
}
