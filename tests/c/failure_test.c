// What a failing task does to others and what the program is told.
#include <fcntl.h>
#include <stdatomic.h>

#include "check.h"

static atomic_int runs;

static int32_t fail(void* argument) {
  atomic_fetch_add(&runs, 1);
  return *(const int32_t*)argument;
}

static int32_t fail_twice(void* argument) {
  (void)argument;
  return atomic_fetch_add(&runs, 1) < 2 ? -EAGAIN : 11;
}

static int32_t explain_and_fail(void* argument) {
  (void)argument;
  return dovetail_error_set(-EILSEQ, "the header is torn");
}

static int32_t read_beyond_permission(void* argument) {
  return (int32_t)dovetail_file_pwrite(argument, "abc", 3, 4096);
}

static dovetail_future* spawn_on(dovetail_runtime* runtime, dovetail_task_description description,
                                 const dovetail_access* access) {
  description.accesses = access;
  description.access_count = 1;
  dovetail_future* future = NULL;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, &future), 0);
  return future;
}

static void test_successors_are_cancelled(dovetail_runtime* runtime) {
  int block = 0;
  int32_t code = -EDOM;
  runs = 0;
  const dovetail_access access = dovetail_access_memory(DOVETAIL_ACCESS_INOUT, &block, sizeof block);
  dovetail_task_description description = describe(fail, &code);
  description.label = "first";
  dovetail_future* const first = spawn_on(runtime, description, &access);
  description.label = "second";
  dovetail_future* const second = spawn_on(runtime, description, &access);

  CHECK_EQUAL(dovetail_future_get(first), -EDOM);
  CHECK_EQUAL(dovetail_error_code(), -EDOM);
  CHECK_EQUAL(dovetail_error_kind(), DOVETAIL_ERROR_TASK);
  CHECK(strcmp(dovetail_error_label(), "first") == 0);
  CHECK_CONTAINS(dovetail_error_message(), "first");
  CHECK_EQUAL(dovetail_error_offset(), -1);

  CHECK_EQUAL(dovetail_future_get(second), -ECANCELED);
  CHECK_EQUAL(dovetail_error_kind(), DOVETAIL_ERROR_CANCELLED);
  CHECK(strcmp(dovetail_error_label(), "second") == 0);
  CHECK_EQUAL(runs, 1);
  dovetail_future_release(first);
  dovetail_future_release(second);
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
}

static void test_failure_ignored(dovetail_runtime* runtime) {
  int block = 0;
  int32_t code = -ENXIO;
  runs = 0;
  const dovetail_access access = dovetail_access_memory(DOVETAIL_ACCESS_INOUT, &block, sizeof block);
  dovetail_task_description description = describe(fail, &code);
  description.on_failure = DOVETAIL_FAILURE_IGNORED;
  dovetail_future* const first = spawn_on(runtime, description, &access);
  dovetail_future* const second = spawn_on(runtime, description, &access);
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  CHECK_EQUAL(runs, 2);
  CHECK_EQUAL(dovetail_future_get(first), -ENXIO);
  dovetail_future_release(first);
  dovetail_future_release(second);
}

static void test_retries(dovetail_runtime* runtime) {
  runs = 0;
  dovetail_task_description description = describe(fail_twice, NULL);
  description.retries = 2;
  dovetail_future* future = NULL;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, &future), 0);
  CHECK_EQUAL(dovetail_future_get(future), 11);
  CHECK_EQUAL(runs, 3);
  dovetail_future_release(future);

  runs = 0;
  description.retries = 1;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, &future), 0);
  CHECK_EQUAL(dovetail_future_get(future), -EAGAIN);
  CHECK_EQUAL(runs, 2);
  dovetail_future_release(future);
}

static void test_messages_travel(dovetail_runtime* runtime) {
  CHECK_EQUAL(run_task(runtime, explain_and_fail, NULL), -EILSEQ);
  CHECK_CONTAINS(dovetail_error_message(), "the header is torn");

  dovetail_file* file = NULL;
  CHECK_EQUAL(dovetail_file_open("/dev/null", O_RDONLY, NULL, &file), 0);
  CHECK_EQUAL(run_task(runtime, read_beyond_permission, file), -EBADF);
  CHECK_EQUAL(dovetail_error_kind(), DOVETAIL_ERROR_TASK);
  CHECK(strcmp(dovetail_error_path(), "/dev/null") == 0);
  CHECK(strcmp(dovetail_error_operation(), "pwrite") == 0);
  CHECK_EQUAL(dovetail_error_offset(), 4096);
  CHECK_EQUAL(dovetail_error_length(), 3);
  CHECK_CONTAINS(dovetail_error_message(), "/dev/null");
  CHECK_CONTAINS(dovetail_error_message(), strerror(EBADF));
  CHECK_EQUAL(dovetail_file_close(file), 0);
}

static void test_results_that_are_no_errno(dovetail_runtime* runtime) {
  int32_t code = -70000;
  CHECK_EQUAL(run_task(runtime, fail, &code), -EPROTO);
  CHECK_CONTAINS(dovetail_error_message(), "-70000");
  code = INT32_MIN;
  CHECK_EQUAL(run_task(runtime, fail, &code), -EPROTO);
}

static int32_t parent_of_failure(void* argument) {
  const dovetail_task_description description = {
      .size = sizeof description, .fallible_body = fail, .argument = argument, .label = "child"};
  CHECK_EQUAL(dovetail_task_spawn(&description, NULL), 0);
  CHECK_EQUAL(dovetail_task_wait(), -EMLINK);
  CHECK(strcmp(dovetail_error_label(), "child") == 0);
  return 0;
}

static void count_destruction(void* argument) { atomic_fetch_add((atomic_int*)argument, 1); }

static int32_t suspend_until_resumed(void* argument) {
  dovetail_handle* handle = NULL;
  CHECK_EQUAL(dovetail_handle_current(&handle), 0);
  atomic_store((_Atomic(dovetail_handle*)*)argument, handle);
  CHECK_EQUAL(dovetail_task_suspend(), 0);
  return dovetail_task_cancelled();
}

static int32_t never_run(void* argument) {
  (void)argument;
  check_failed(__FILE__, __LINE__, "a cancelled task ran");
  return 0;
}

// The first task holds the block while the second, which waits for it, is cancelled.
static void test_cancel(dovetail_runtime* runtime, int whole_runtime) {
  int block = 0;
  atomic_int destructions = 0;
  _Atomic(dovetail_handle*) handle = NULL;
  const dovetail_access access = dovetail_access_memory(DOVETAIL_ACCESS_INOUT, &block, sizeof block);
  dovetail_future* const holder = spawn_on(runtime, describe(suspend_until_resumed, &handle), &access);
  dovetail_task_description description = describe(never_run, &destructions);
  description.destroy = count_destruction;
  dovetail_future* const waiting = spawn_on(runtime, description, &access);
  while (atomic_load(&handle) == NULL) {
  }
  CHECK_EQUAL(dovetail_future_ready(holder), 0);
  if (whole_runtime) {
    CHECK_EQUAL(dovetail_runtime_cancel(runtime), 0);
  } else {
    CHECK_EQUAL(dovetail_future_cancel(holder), 0);
    CHECK_EQUAL(dovetail_future_cancel(waiting), 0);
  }
  CHECK_EQUAL(dovetail_handle_resume(handle), 0);
  CHECK_EQUAL(dovetail_future_get(holder), 1);
  CHECK_EQUAL(dovetail_future_get(waiting), -ECANCELED);
  CHECK_EQUAL(dovetail_error_kind(), DOVETAIL_ERROR_CANCELLED);
  CHECK_EQUAL(destructions, 1);
  dovetail_handle_release(handle);
  dovetail_future_release(holder);
  dovetail_future_release(waiting);
}

int main(void) {
  dovetail_runtime* const runtime = start_runtime(2);
  test_successors_are_cancelled(runtime);
  test_failure_ignored(runtime);
  test_retries(runtime);
  test_messages_travel(runtime);
  test_results_that_are_no_errno(runtime);
  int32_t code = -EMLINK;
  CHECK_EQUAL(run_task(runtime, parent_of_failure, &code), 0);
  test_cancel(runtime, 0);
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  test_cancel(runtime, 1);
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
  return 0;
}
