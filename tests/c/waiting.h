// What the tests of locks and of selections share.
#ifndef DOVETAIL_TESTS_C_WAITING_H
#define DOVETAIL_TESTS_C_WAITING_H

#include "check.h"

static inline dovetail_semaphore* semaphore_of(int64_t units) {
  dovetail_semaphore* semaphore = NULL;
  CHECK_EQUAL(dovetail_semaphore_create(units, &semaphore), 0);
  return semaphore;
}

static inline dovetail_mutex* new_mutex(void) {
  dovetail_mutex* mutex = NULL;
  CHECK_EQUAL(dovetail_mutex_create(&mutex), 0);
  return mutex;
}

static inline dovetail_latch* latch_of(int64_t count) {
  dovetail_latch* latch = NULL;
  CHECK_EQUAL(dovetail_latch_create(count, &latch), 0);
  return latch;
}

static inline dovetail_barrier* barrier_of(int64_t participants) {
  dovetail_barrier* barrier = NULL;
  CHECK_EQUAL(dovetail_barrier_create(participants, &barrier), 0);
  return barrier;
}

static inline dovetail_future* spawn(dovetail_runtime* runtime, dovetail_fallible_body body, void* argument) {
  const dovetail_task_description task = describe(body, argument);
  dovetail_future* future = NULL;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &task, &future), 0);
  return future;
}

static inline int32_t take(dovetail_future* future) {
  const int32_t result = dovetail_future_get(future);
  dovetail_future_release(future);
  return result;
}

static inline int32_t wait_for_latch(void* argument) { return dovetail_latch_wait(argument); }

static inline int32_t nothing(void* argument) {
  (void)argument;
  return 0;
}

// On the only worker of the runtime: what was spawned before has run until it waits.
static inline void let_all_run(dovetail_runtime* runtime) { CHECK_EQUAL(run_task(runtime, nothing, NULL), 0); }

#endif
