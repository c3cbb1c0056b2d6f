// The last error: of a task, which it follows from thread to thread, and of a thread.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "check.h"

static void check_no_error(void) {
  CHECK_EQUAL(dovetail_error_code(), 0);
  CHECK_EQUAL(dovetail_error_kind(), DOVETAIL_ERROR_NONE);
  CHECK(strcmp(dovetail_error_message(), "") == 0);
  CHECK(strcmp(dovetail_error_label(), "") == 0);
  CHECK(strcmp(dovetail_error_operation(), "") == 0);
  CHECK(strcmp(dovetail_error_path(), "") == 0);
  CHECK_EQUAL(dovetail_error_offset(), -1);
  CHECK_EQUAL(dovetail_error_length(), -1);
}

static void* check_no_error_in_thread(void* argument) {
  check_no_error();
  return argument;
}

static void test_error_of_a_thread(void) {
  check_no_error();
  CHECK_EQUAL(dovetail_error_set(-ERANGE, "out of all bounds"), -ERANGE);
  CHECK_EQUAL(dovetail_error_code(), -ERANGE);
  CHECK_EQUAL(dovetail_error_kind(), DOVETAIL_ERROR_PROGRAM);
  CHECK_CONTAINS(dovetail_error_message(), "out of all bounds");
  pthread_t thread;
  CHECK_EQUAL(pthread_create(&thread, NULL, check_no_error_in_thread, NULL), 0);
  CHECK_EQUAL(pthread_join(thread, NULL), 0);
  CHECK_EQUAL(dovetail_task_active(), 0);  // a call that succeeds changes nothing
  CHECK_EQUAL(dovetail_error_code(), -ERANGE);

  CHECK_EQUAL(dovetail_error_set(-ERANGE, NULL), -ERANGE);
  CHECK_CONTAINS(dovetail_error_message(), strerror(ERANGE));
  CHECK_EQUAL(dovetail_error_set(0, "no error at all"), -EINVAL);
  CHECK_EQUAL(dovetail_error_set(5, "EIO is 5, but -5 was meant"), -EINVAL);
  CHECK_EQUAL(dovetail_error_set(INT32_MIN, "no errno"), -EINVAL);
  CHECK_EQUAL(dovetail_error_kind(), DOVETAIL_ERROR_ARGUMENT);
  dovetail_error_clear();
  check_no_error();
}

static void test_error_of_a_file(void) {
  dovetail_file* file = NULL;
  CHECK_EQUAL(dovetail_file_open("/nowhere/at/all", O_RDONLY, NULL, &file), -ENOENT);
  CHECK(file == NULL);
  CHECK_EQUAL(dovetail_error_code(), -ENOENT);
  CHECK_EQUAL(dovetail_error_kind(), DOVETAIL_ERROR_IO);
  CHECK(strcmp(dovetail_error_path(), "/nowhere/at/all") == 0);
  CHECK(strcmp(dovetail_error_operation(), "open") == 0);
  CHECK_CONTAINS(dovetail_error_message(), "/nowhere/at/all");
  CHECK_CONTAINS(dovetail_error_message(), strerror(ENOENT));
  dovetail_error_clear();
}

enum { tasks = 64, rounds = 50 };

static atomic_int moves;

// All tasks take turns on two workers. With an error of the thread each would find that of another.
static int32_t keep_own_error(void* argument) {
  const int number = *(const int*)argument;
  char own[64];
  check_no_error();
  for (int round = 0; round < rounds; ++round) {
    snprintf(own, sizeof own, "error %d of task %d.", round, number);
    CHECK_EQUAL(dovetail_error_set(-(1 + number), own), -(1 + number));
    const pid_t before = gettid();  // not pthread_self, which compilers take for a constant
    CHECK_EQUAL(dovetail_task_yield(), 0);
    if (round % 10 == 0) {
      CHECK(dovetail_task_wait_for(1000) >= 0);
    }
    if (gettid() != before) {
      atomic_fetch_add(&moves, 1);
    }
    CHECK_EQUAL(dovetail_error_code(), -(1 + number));
    CHECK_CONTAINS(dovetail_error_message(), own);
    CHECK(strcmp(dovetail_error_label(), "traveller") == 0);
  }
  if (number % 2 == 0) {
    dovetail_error_clear();
    check_no_error();
  }
  return 0;
}

static void test_error_follows_its_task(void) {
  dovetail_runtime* const runtime = start_runtime(2);
  for (int i = 0; i < tasks; ++i) {
    dovetail_task_description description = describe(keep_own_error, &i);
    description.argument_size = sizeof i;
    description.label = "traveller";
    CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, NULL), 0);
  }
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  printf("tasks changed threads %d times\n", moves);
  // Nothing is left for tasks that come to lie in the same memory.
  for (int i = 0; i < tasks; ++i) {
    dovetail_task_description description = describe(keep_own_error, &i);
    description.argument_size = sizeof i;
    description.label = "traveller";
    CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, NULL), 0);
  }
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  check_no_error();
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
}

int main(void) {
  test_error_of_a_thread();
  test_error_of_a_file();
  test_error_follows_its_task();
  return 0;
}
