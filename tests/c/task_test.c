// Spawning: arguments, descriptions, nesting, results.
#include <stdatomic.h>
#include <unistd.h>

#include "check.h"

static void add_to_counter(void* argument) { atomic_fetch_add((atomic_int*)argument, 1); }

static void test_plain_body(dovetail_runtime* runtime) {
  atomic_int counter = 0;
  const dovetail_task_description description = {
      .size = sizeof description, .body = add_to_counter, .argument = &counter};
  dovetail_future* future = NULL;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, &future), 0);
  CHECK_EQUAL(dovetail_future_wait(future), 0);
  CHECK_EQUAL(dovetail_future_ready(future), 1);
  CHECK_EQUAL(dovetail_future_get(future), 0);
  CHECK_EQUAL(dovetail_future_retain(future), 0);
  dovetail_future_release(future);
  CHECK_EQUAL(dovetail_future_get(future), 0);
  dovetail_future_release(future);
  dovetail_future_release(NULL);
  for (int i = 0; i < 1000; ++i) {
    CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, NULL), 0);
  }
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  CHECK_EQUAL(counter, 1001);
}

struct Message {
  atomic_int* runs;
  atomic_int* readies;
  atomic_int* destructions;
  char text[200];
};

static int32_t check_message(void* argument) {
  const struct Message* const message = argument;
  CHECK_EQUAL((uintptr_t)argument % 16, 0);
  CHECK(strcmp(message->text, "in the task's own copy") == 0);
  return atomic_fetch_add(message->runs, 1) + 1;
}

static void count_ready(void* argument) {
  CHECK_EQUAL(dovetail_task_active(), 0);
  atomic_fetch_add(((struct Message*)argument)->readies, 1);
}

static void count_destruction(void* argument) { atomic_fetch_add(((struct Message*)argument)->destructions, 1); }

static void test_copied_argument(dovetail_runtime* runtime, int with_onready) {
  atomic_int runs = 0;
  atomic_int readies = 0;
  atomic_int destructions = 0;
  struct Message message = {&runs, &readies, &destructions, "in the task's own copy"};
  dovetail_task_description description = describe(check_message, &message);
  description.argument_size = sizeof message;
  description.destroy = count_destruction;
  description.onready = with_onready ? count_ready : NULL;
  for (int i = 0; i < 100; ++i) {
    strcpy(message.text, "in the task's own copy");
    CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, NULL), 0);
    strcpy(message.text, "overwritten");
  }
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  CHECK_EQUAL(runs, 100);
  CHECK_EQUAL(readies, with_onready ? 100 : 0);
  CHECK_EQUAL(destructions, 100);
}

struct Fibonacci {
  int n;
  int result;
};

static int32_t fibonacci(void* argument) {
  struct Fibonacci* const wanted = argument;
  if (wanted->n < 2) {
    wanted->result = wanted->n;
    return wanted->result;
  }
  struct Fibonacci left = {wanted->n - 1, 0};
  struct Fibonacci right = {wanted->n - 2, 0};
  const dovetail_task_description first = describe(fibonacci, &left);
  const dovetail_task_description second = describe(fibonacci, &right);
  dovetail_future* future = NULL;
  CHECK_EQUAL(dovetail_task_spawn(&first, &future), 0);
  CHECK_EQUAL(dovetail_task_spawn(&second, NULL), 0);
  const int32_t got = dovetail_future_get(future);
  CHECK_EQUAL(got, left.result);
  dovetail_future_release(future);
  CHECK_EQUAL(dovetail_task_wait(), 0);
  wanted->result = left.result + right.result;
  return wanted->result;
}

static int32_t look_at_myself(void* argument) {
  (void)argument;
  char label[64];
  CHECK_EQUAL(dovetail_task_active(), 1);
  CHECK_EQUAL(dovetail_task_cancelled(), 0);
  CHECK_EQUAL(dovetail_task_label(label, sizeof label), 7);
  CHECK(strcmp(label, "a label") == 0);
  CHECK_EQUAL(dovetail_task_label(label, 4), 7);
  CHECK(strcmp(label, "a l") == 0);
  CHECK_EQUAL(dovetail_task_label(NULL, 0), 7);
  CHECK_EQUAL(dovetail_task_label(NULL, 4), -EINVAL);
  CHECK_EQUAL(dovetail_task_yield(), 0);
  CHECK(dovetail_task_wait_for(100000) >= 100000);
  CHECK_EQUAL(dovetail_task_wait_for(-1), -EINVAL);
  CHECK_EQUAL(dovetail_task_wait(), 0);
  return 3;
}

static void test_labels_io_and_tied(dovetail_runtime* runtime) {
  for (int kind = 0; kind < 4; ++kind) {
    dovetail_task_description description = describe(look_at_myself, NULL);
    description.label = "a label";
    description.io = kind & 1;
    description.tied = kind & 2;
    description.priority = kind - 2;
    dovetail_future* future = NULL;
    CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, &future), 0);
    CHECK_EQUAL(dovetail_future_get(future), 3);
    dovetail_future_release(future);
  }
}

static void test_outside_of_a_task(void) {
  const dovetail_task_description description = describe(look_at_myself, NULL);
  CHECK_EQUAL(dovetail_task_spawn(&description, NULL), -EPERM);
  CHECK_CONTAINS(dovetail_error_message(), "dovetail_task_spawn");
  CHECK_EQUAL(dovetail_task_wait(), -EPERM);
  CHECK_EQUAL(dovetail_task_yield(), -EPERM);
  CHECK_EQUAL(dovetail_task_wait_for(1), -EPERM);
  CHECK_EQUAL(dovetail_task_active(), 0);
  CHECK_EQUAL(dovetail_task_cancelled(), 0);
  char label[8] = "x";
  CHECK_EQUAL(dovetail_task_label(label, sizeof label), 0);
  CHECK_EQUAL(label[0], '\0');
}

// Whatever is wrong with a description, nothing is spawned and the argument stays with the caller.
static void test_refused_descriptions(dovetail_runtime* runtime) {
  atomic_int destructions = 0;
  struct Message message = {NULL, NULL, &destructions, ""};
  dovetail_task_description good = describe(check_message, &message);
  good.destroy = count_destruction;
  dovetail_future* future = NULL;

  CHECK_EQUAL(dovetail_runtime_spawn(NULL, &good, &future), -EINVAL);
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, NULL, &future), -EINVAL);

  dovetail_task_description bad = good;
  bad.size = 0;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &bad, &future), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "size");

  bad = good;
  bad.fallible_body = NULL;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &bad, &future), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "body");
  bad = good;
  bad.body = add_to_counter;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &bad, &future), -EINVAL);

  bad = good;
  bad.argument = NULL;
  bad.argument_size = 8;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &bad, &future), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "argument");

  bad = good;
  bad.access_count = 1;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &bad, &future), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "accesses");

  bad = good;
  bad.on_failure = 2;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &bad, &future), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "on_failure");

  bad = good;
  bad.retries = -1;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &bad, &future), -EINVAL);
  bad = good;
  bad.reserved = 4;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &bad, &future), -EINVAL);

  CHECK(future == NULL);
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  CHECK_EQUAL(destructions, 0);
}

static void increment(void* counter) { ++*(int*)counter; }

static void test_callbacks(dovetail_runtime* runtime) {
  int called = 0;
  const dovetail_task_description description = {.size = sizeof description, .body = increment, .argument = &called};
  dovetail_future* future = NULL;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, &future), 0);
  CHECK_EQUAL(dovetail_future_when_completed(future, NULL, &called), -EINVAL);
  CHECK_EQUAL(dovetail_future_when_completed(future, increment, &called), 0);
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  CHECK_EQUAL(called, 2);
  CHECK_EQUAL(dovetail_future_when_completed(future, increment, &called), 0);
  CHECK_EQUAL(called, 3);
  dovetail_future_release(future);
}

static void test_null_futures(void) {
  CHECK_EQUAL(dovetail_future_wait(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_future_get(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_future_ready(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_future_cancel(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_future_when_completed(NULL, increment, NULL), -EINVAL);
  CHECK_EQUAL(dovetail_future_retain(NULL), -EINVAL);
}

int main(void) {
  dovetail_runtime* const runtime = start_runtime(2);
  test_plain_body(runtime);
  test_copied_argument(runtime, 0);
  test_copied_argument(runtime, 1);
  struct Fibonacci wanted = {15, 0};
  CHECK_EQUAL(run_task(runtime, fibonacci, &wanted), 610);
  test_labels_io_and_tied(runtime);
  test_outside_of_a_task();
  test_refused_descriptions(runtime);
  test_callbacks(runtime);
  test_null_futures();
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
  return 0;
}
