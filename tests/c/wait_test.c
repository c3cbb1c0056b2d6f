// Waiting for one of several tasks, and for a limited time.
#include <stdatomic.h>
#include <unistd.h>

#include "check.h"

static const int64_t hour = INT64_C(3600000000000);

// A task that is suspended until it is resumed.
struct Sleeper {
  _Atomic(dovetail_handle*) handle;
  dovetail_future* future;
};

static int32_t sleep_in_task(void* argument) {
  struct Sleeper* const sleeper = argument;
  dovetail_handle* handle = NULL;
  CHECK_EQUAL(dovetail_handle_current(&handle), 0);
  atomic_store(&sleeper->handle, handle);
  return dovetail_task_suspend();
}

static void start(dovetail_runtime* runtime, struct Sleeper* sleeper) {
  const dovetail_task_description task = describe(sleep_in_task, sleeper);
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &task, &sleeper->future), 0);
  while (atomic_load(&sleeper->handle) == NULL) {
  }
}

static void finish(struct Sleeper* sleeper) {
  dovetail_handle_release(atomic_load(&sleeper->handle));
  dovetail_future_release(sleeper->future);
}

static atomic_int waited_in_vain;

static int32_t wait_for_first(void* argument) {
  struct Sleeper* const sleepers = argument;
  const dovetail_future* const futures[] = {sleepers[0].future, sleepers[1].future};
  CHECK_EQUAL(dovetail_future_wait_for(futures[0], 1000), 0);
  CHECK_EQUAL(dovetail_future_wait_for_any(futures, 2, 1000), -ETIMEDOUT);
  CHECK_CONTAINS(dovetail_error_message(), "none of 2 tasks");
  atomic_store(&waited_in_vain, 1);
  return (int32_t)dovetail_future_wait_for_any(futures, 2, -1);
}

static void test_waits(dovetail_runtime* runtime) {
  struct Sleeper sleepers[2] = {{NULL, NULL}, {NULL, NULL}};
  start(runtime, &sleepers[0]);
  start(runtime, &sleepers[1]);
  const dovetail_future* const futures[] = {sleepers[0].future, sleepers[1].future};
  CHECK_EQUAL(dovetail_future_wait_for(futures[0], 0), 0);
  CHECK_EQUAL(dovetail_future_wait_for_any(futures, 2, 0), -ETIMEDOUT);
  const dovetail_task_description task = describe(wait_for_first, sleepers);
  dovetail_future* waiting = NULL;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &task, &waiting), 0);
  while (atomic_load(&waited_in_vain) == 0) {
  }
  CHECK_EQUAL(dovetail_handle_resume(atomic_load(&sleepers[1].handle)), 0);
  CHECK_EQUAL(dovetail_future_wait_for_any(futures, 2, hour), 1);
  CHECK_EQUAL(dovetail_future_get(waiting), 1);
  CHECK_EQUAL(dovetail_handle_resume(atomic_load(&sleepers[0].handle)), 0);
  CHECK_EQUAL(dovetail_future_wait_for(futures[0], hour), 1);
  CHECK_EQUAL(dovetail_future_wait_for(futures[0], -1), 1);
  CHECK_EQUAL(dovetail_future_wait_for_any(futures, 2, 0), 0);
  dovetail_future_release(waiting);
  finish(&sleepers[0]);
  finish(&sleepers[1]);

  CHECK_EQUAL(dovetail_future_wait_for(NULL, 0), -EINVAL);
  CHECK_EQUAL(dovetail_future_wait_for_any(NULL, 1, 0), -EINVAL);
  CHECK_EQUAL(dovetail_future_wait_for_any(futures, 0, 0), -EINVAL);
  const dovetail_future* const none[] = {NULL};
  CHECK_EQUAL(dovetail_future_wait_for_any(none, 1, 0), -EINVAL);
}

static void append(void* argument) {
  int** const place = argument;
  *(*place) = 1;
  ++*place;
}

// Ten tasks on one region of a space: as they share a pointer, they would spoil it side by side.
static void test_spaces(dovetail_runtime* runtime) {
  dovetail_space* space = NULL;
  CHECK_EQUAL(dovetail_space_create("rank 3", &space), 0);
  dovetail_space* other = NULL;
  CHECK_EQUAL(dovetail_space_create("rank 3", &other), 0);
  CHECK(dovetail_space_number(space) != 0 && dovetail_space_number(space) != dovetail_space_number(other));
  const dovetail_access access = dovetail_access_space(DOVETAIL_ACCESS_INOUT, space, 8, 4);
  CHECK_EQUAL(access.space, dovetail_space_number(space));
  CHECK_EQUAL(access.begin, 8);
  CHECK_EQUAL(access.length, 4);
  static int filled[1000];
  int* next = filled;
  for (int i = 0; i < 1000; ++i) {
    const dovetail_task_description task = {
        .size = sizeof task, .body = append, .argument = &next, .accesses = &access, .access_count = 1};
    CHECK_EQUAL(dovetail_runtime_spawn(runtime, &task, NULL), 0);
  }
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  CHECK_EQUAL(next - filled, 1000);
  CHECK_EQUAL(dovetail_access_space(DOVETAIL_ACCESS_IN, NULL, 0, 1).mode, -EINVAL);
  CHECK_EQUAL(dovetail_access_space(DOVETAIL_ACCESS_IN, space, -1, 1).mode, -EINVAL);
  CHECK_EQUAL(dovetail_access_space(17, space, 0, 1).mode, -EINVAL);
  CHECK_EQUAL(dovetail_space_create(NULL, &space), -EINVAL);
  CHECK_EQUAL(dovetail_space_create("", NULL), -EINVAL);
  CHECK_EQUAL(dovetail_space_number(NULL), 0);
  dovetail_space_release(space);
  dovetail_space_release(other);
  dovetail_space_release(NULL);
}

int main(void) {
  dovetail_runtime* const runtime = start_runtime(2);
  test_waits(runtime);
  test_spaces(runtime);
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
  return 0;
}
