// Waiting for the first of several things.
#include <stdatomic.h>
#include <unistd.h>

#include "waiting.h"

static int64_t select_one(dovetail_alternative alternative, int64_t at_most_ns) {
  return dovetail_select(&alternative, 1, at_most_ns);
}

struct Things {
  dovetail_future* future;
  dovetail_semaphore* semaphore;
  dovetail_mutex* mutex;
  dovetail_latch* latch;
  dovetail_operation* operation;
  int ends[2];
  atomic_int looked;  // The selection waits without a limit, or is about to.
};

enum { things = 6 };
static void fill(const struct Things* all, dovetail_alternative* alternatives) {
  alternatives[0] = dovetail_alternative_future(all->future);
  alternatives[1] = dovetail_alternative_semaphore(all->semaphore, 2);
  alternatives[2] = dovetail_alternative_mutex(all->mutex);
  alternatives[3] = dovetail_alternative_latch(all->latch);
  alternatives[4] = dovetail_alternative_operation(all->operation);
  alternatives[5] = dovetail_alternative_readable(all->ends[0]);
}

static int32_t select_of_all(void* argument) {
  struct Things* const all = argument;
  dovetail_alternative alternatives[things];
  fill(all, alternatives);
  CHECK_EQUAL(dovetail_select(alternatives, things, 1000), -ETIMEDOUT);
  CHECK_CONTAINS(dovetail_error_message(), "none of 6 things");
  CHECK_EQUAL(dovetail_select(alternatives, things, 0), -ETIMEDOUT);
  atomic_store(&all->looked, 1);
  return (int32_t)dovetail_select(alternatives, things, -1);
}

static size_t poll_nothing(void* argument) {
  (void)argument;
  return 0;
}

static void happen(const struct Things* all, dovetail_latch* of_future, int what) {
  switch (what) {
    case 0:
      CHECK_EQUAL(dovetail_latch_count_down(of_future, 1), 0);
      break;
    case 1:
      CHECK_EQUAL(dovetail_semaphore_release(all->semaphore, 1), 0);
      break;
    case 2:
      CHECK_EQUAL(dovetail_mutex_unlock(all->mutex), 0);
      break;
    case 3:
      CHECK_EQUAL(dovetail_latch_count_down(all->latch, 1), 0);
      break;
    case 4:
      CHECK_EQUAL(dovetail_operation_complete(all->operation), 0);
      break;
    default:
      CHECK_EQUAL(write(all->ends[1], "x", 1), 1);
  }
}

// Each of them ends the wait alone: what it takes is taken, and nothing else.
static void test_each_ends_a_selection(dovetail_runtime* runtime, dovetail_polling* polling) {
  for (int what = 0; what < things; ++what) {
    struct Things all = {.semaphore = semaphore_of(1), .mutex = new_mutex(), .latch = latch_of(1)};
    CHECK_EQUAL(pipe(all.ends), 0);
    CHECK_EQUAL(dovetail_mutex_lock(all.mutex), 0);
    CHECK_EQUAL(dovetail_polling_expect(polling, "something", &all.operation), 0);
    dovetail_latch* const of_future = latch_of(1);
    all.future = spawn(runtime, wait_for_latch, of_future);
    dovetail_future* const selects = spawn(runtime, select_of_all, &all);
    while (atomic_load(&all.looked) == 0) {
    }
    happen(&all, of_future, what);
    CHECK_EQUAL(take(selects), what);
    CHECK_EQUAL(dovetail_semaphore_available(all.semaphore), what == 1 ? 0 : 1);
    CHECK_EQUAL(dovetail_mutex_try_lock(all.mutex), 0);
    if (what != 0) {
      happen(&all, of_future, 0);
    }
    CHECK_EQUAL(take(all.future), 0);
    dovetail_operation_release(all.operation);
    dovetail_semaphore_destroy(all.semaphore);
    dovetail_mutex_destroy(all.mutex);
    dovetail_latch_destroy(all.latch);
    dovetail_latch_destroy(of_future);
    close(all.ends[0]);
    close(all.ends[1]);
  }
}

static int32_t select_descriptors(void* argument) {
  const int* const ends = argument;
  CHECK_EQUAL(select_one(dovetail_alternative_writable(ends[1]), -1), 0);
  CHECK_EQUAL(select_one(dovetail_alternative_readable(-1), 0), -EBADF);
  return 0;
}

static void test_what_cannot_be_selected(dovetail_runtime* runtime) {
  dovetail_semaphore* const semaphore = semaphore_of(2);
  dovetail_alternative first[2] = {dovetail_alternative_semaphore(semaphore, 2),
                                   dovetail_alternative_semaphore(semaphore, 1)};
  CHECK_EQUAL(dovetail_select(first, 2, -1), 0);  // outside of tasks, too
  CHECK_EQUAL(dovetail_select(first, 2, 1000), -ETIMEDOUT);
  CHECK_EQUAL(dovetail_select(first, 0, 0), -EINVAL);
  CHECK_EQUAL(dovetail_select(NULL, 1, 0), -EINVAL);
  first[1].units = -1;
  CHECK_EQUAL(dovetail_select(first, 2, 0), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "'alternatives[1].units' is -1");
  first[1].kind = 7;
  CHECK_EQUAL(dovetail_select(first, 2, 0), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "'alternatives[1].kind' is 7");
  CHECK_EQUAL(select_one(dovetail_alternative_future(NULL), 0), -EINVAL);
  CHECK_EQUAL(select_one(dovetail_alternative_semaphore(NULL, 1), 0), -EINVAL);
  CHECK_EQUAL(select_one(dovetail_alternative_mutex(NULL), 0), -EINVAL);
  CHECK_EQUAL(select_one(dovetail_alternative_latch(NULL), 0), -EINVAL);
  CHECK_EQUAL(select_one(dovetail_alternative_operation(NULL), 0), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "'alternatives[0].object' is null");
  CHECK_EQUAL(select_one(dovetail_alternative_readable(0), 0), -EPERM);
  int ends[2];
  CHECK_EQUAL(pipe(ends), 0);
  CHECK_EQUAL(run_task(runtime, select_descriptors, ends), 0);
  close(ends[0]);
  close(ends[1]);
  dovetail_semaphore_destroy(semaphore);
}

int main(void) {
  dovetail_runtime* const runtime = start_runtime(1);
  dovetail_polling* polling = NULL;
  CHECK_EQUAL(dovetail_polling_create(runtime, "something", 0, 0, poll_nothing, NULL, -1, &polling), 0);
  test_each_ends_a_selection(runtime, polling);
  CHECK_EQUAL(dovetail_polling_destroy(polling), 0);
  test_what_cannot_be_selected(runtime);
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
  return 0;
}
