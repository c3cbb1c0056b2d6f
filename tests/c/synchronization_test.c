// Semaphores, locks, latches and barriers that pause tasks.
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "waiting.h"

enum { many = 1000 };

// A lock that is held across a read of a file ------------------------------------------------------------------------

struct Counter {
  dovetail_mutex* mutex;
  dovetail_file* file;
  int64_t value;
};

static int32_t add_one(void* argument) {
  struct Counter* const counter = argument;
  char bytes[64];
  CHECK_EQUAL(dovetail_mutex_lock(counter->mutex), 0);
  const int64_t before = counter->value;
  CHECK_EQUAL(dovetail_file_pread(counter->file, bytes, sizeof bytes, 0), sizeof bytes);
  CHECK_EQUAL(dovetail_task_yield(), 0);
  counter->value = before + 1;
  CHECK_EQUAL(dovetail_mutex_unlock(counter->mutex), 0);
  return 0;
}

static void* count_in_thread(void* argument) {
  struct Counter* const counter = argument;
  for (int i = 0; i < 100; ++i) {
    CHECK_EQUAL(dovetail_mutex_lock_for(counter->mutex, -1), 1);
    ++counter->value;
    CHECK_EQUAL(dovetail_mutex_unlock(counter->mutex), 0);
  }
  return NULL;
}

static void test_a_lock_across_a_read(dovetail_runtime* runtime) {
  struct Counter counter = {.mutex = new_mutex()};
  CHECK_EQUAL(dovetail_file_open("/proc/self/exe", O_RDONLY, NULL, &counter.file), 0);
  pthread_t thread;
  CHECK_EQUAL(pthread_create(&thread, NULL, count_in_thread, &counter), 0);
  for (int i = 0; i < many; ++i) {
    const dovetail_task_description task = describe(add_one, &counter);
    CHECK_EQUAL(dovetail_runtime_spawn(runtime, &task, NULL), 0);
  }
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  CHECK_EQUAL(pthread_join(thread, NULL), 0);
  CHECK_EQUAL(counter.value, many + 100);
  CHECK_EQUAL(dovetail_file_close(counter.file), 0);
  dovetail_mutex_destroy(counter.mutex);
}

// One worker: what a task waits for comes from others on the same core -----------------------------------------------

struct Order {
  dovetail_semaphore* semaphore;
  int64_t units;
  atomic_int* next;
  int place;
};

static int32_t take_in_turn(void* argument) {
  struct Order* const order = argument;
  CHECK_EQUAL(dovetail_semaphore_acquire(order->semaphore, order->units), 0);
  order->place = atomic_fetch_add(order->next, 1);
  return 0;
}

static void test_semaphore(dovetail_runtime* runtime) {
  dovetail_semaphore* const semaphore = semaphore_of(10);
  CHECK_EQUAL(dovetail_semaphore_acquire(semaphore, 7), 0);
  CHECK_EQUAL(dovetail_semaphore_available(semaphore), 3);
  CHECK_EQUAL(dovetail_semaphore_try_acquire(semaphore, 4), 0);
  CHECK_EQUAL(dovetail_semaphore_acquire_for(semaphore, 4, 1000), 0);
  CHECK_EQUAL(dovetail_semaphore_acquire_for(semaphore, 4, 0), 0);
  atomic_int next = 0;
  struct Order large = {.semaphore = semaphore, .units = 9, .next = &next};
  struct Order small = {.semaphore = semaphore, .units = 1, .next = &next};
  dovetail_future* const first = spawn(runtime, take_in_turn, &large);
  let_all_run(runtime);
  dovetail_future* const second = spawn(runtime, take_in_turn, &small);
  let_all_run(runtime);
  CHECK_EQUAL(dovetail_future_ready(second), 0);  // though there is enough for it
  CHECK_EQUAL(dovetail_semaphore_try_acquire(semaphore, 1), 0);
  CHECK_EQUAL(dovetail_semaphore_release(semaphore, 7), 0);
  CHECK_EQUAL(take(first), 0);
  CHECK_EQUAL(take(second), 0);
  CHECK(large.place == 0 && small.place == 1);
  CHECK_EQUAL(dovetail_semaphore_available(semaphore), 0);
  CHECK_EQUAL(dovetail_semaphore_release(semaphore, 12), 0);  // more than there were
  CHECK_EQUAL(dovetail_semaphore_acquire_for(semaphore, 12, -1), 1);
  CHECK_EQUAL(dovetail_semaphore_try_acquire(semaphore, 0), 1);
  dovetail_semaphore_destroy(semaphore);
}

static int32_t lock_in_time(void* argument) {
  const int32_t at_once = dovetail_mutex_lock_for(argument, 0);
  const int32_t soon = dovetail_mutex_lock_for(argument, 1000000);
  const int32_t tried = dovetail_mutex_try_lock(argument);
  return at_once + soon + tried;
}

static int32_t lock_and_unlock(void* argument) {
  CHECK_EQUAL(dovetail_mutex_lock(argument), 0);
  return dovetail_mutex_unlock(argument);
}

static void test_mutex(dovetail_runtime* runtime) {
  dovetail_mutex* const mutex = new_mutex();
  CHECK_EQUAL(dovetail_mutex_unlock(mutex), -EPERM);
  CHECK_CONTAINS(dovetail_error_message(), "nobody holds this lock");
  CHECK_EQUAL(dovetail_mutex_try_lock(mutex), 1);
  CHECK_EQUAL(dovetail_mutex_try_lock(mutex), 0);
  CHECK_EQUAL(run_task(runtime, lock_in_time, mutex), 0);
  dovetail_future* const waits = spawn(runtime, lock_and_unlock, mutex);
  let_all_run(runtime);  // the only worker is free
  CHECK_EQUAL(dovetail_future_ready(waits), 0);
  CHECK_EQUAL(dovetail_mutex_unlock(mutex), 0);
  CHECK_EQUAL(take(waits), 0);
  CHECK_EQUAL(dovetail_mutex_lock(mutex), 0);
  CHECK_EQUAL(dovetail_mutex_unlock(mutex), 0);
  dovetail_mutex_destroy(mutex);
}

static int32_t wait_too_short(void* argument) { return dovetail_latch_wait_for(argument, 1000); }

static void test_latch(dovetail_runtime* runtime) {
  dovetail_latch* const latch = latch_of(3);
  CHECK_EQUAL(run_task(runtime, wait_too_short, latch), 0);
  dovetail_future* const waits = spawn(runtime, wait_for_latch, latch);
  CHECK_EQUAL(dovetail_latch_count_down(latch, 4), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "3 are left");
  CHECK_EQUAL(dovetail_latch_count_down(latch, 2), 0);
  CHECK_EQUAL(dovetail_latch_try_wait(latch), 0);
  CHECK_EQUAL(dovetail_latch_wait_for(latch, 1000), 0);
  let_all_run(runtime);
  CHECK_EQUAL(dovetail_future_ready(waits), 0);
  CHECK_EQUAL(dovetail_latch_count_down(latch, 1), 0);
  CHECK_EQUAL(take(waits), 0);
  CHECK_EQUAL(run_task(runtime, wait_too_short, latch), 1);
  CHECK_EQUAL(dovetail_latch_try_wait(latch), 1);
  CHECK_EQUAL(dovetail_latch_wait(latch), 0);
  CHECK_EQUAL(dovetail_latch_count_down(latch, 1), -EINVAL);
  CHECK_EQUAL(dovetail_latch_count_down(latch, 0), 0);
  dovetail_latch_destroy(latch);
}

enum { participants = 4, phases = 5 };
struct Phases {
  dovetail_barrier* barrier;
  atomic_int arrived[phases];
};

static int32_t go_through_phases(void* argument) {
  struct Phases* const all = argument;
  for (int phase = 0; phase < phases; ++phase) {
    atomic_fetch_add(&all->arrived[phase], 1);
    const int32_t passed = phase % 2 == 0 ? dovetail_barrier_arrive_and_wait(all->barrier) + 1
                                          : dovetail_barrier_arrive_and_wait_for(all->barrier, -1);
    CHECK_EQUAL(passed, 1);
    CHECK_EQUAL(atomic_load(&all->arrived[phase]), participants);
  }
  return 0;
}

static int32_t arrive_once(void* argument) { return dovetail_barrier_arrive_and_wait(argument); }

static void test_barrier(dovetail_runtime* runtime) {
  struct Phases all = {.barrier = barrier_of(participants)};
  for (int i = 0; i < participants; ++i) {
    dovetail_future_release(spawn(runtime, go_through_phases, &all));
  }
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  // One comes late and is not waited for, one drops out.
  CHECK_EQUAL(dovetail_barrier_arrive_and_wait_for(all.barrier, 1000), 0);
  dovetail_future* const waits[2] = {spawn(runtime, arrive_once, all.barrier),
                                     spawn(runtime, arrive_once, all.barrier)};
  let_all_run(runtime);
  CHECK(dovetail_future_ready(waits[0]) == 0 && dovetail_future_ready(waits[1]) == 0);
  CHECK_EQUAL(dovetail_barrier_arrive_and_drop(all.barrier), 0);
  CHECK(take(waits[0]) == 0 && take(waits[1]) == 0);
  for (int left = participants - 1; left > 0; --left) {
    CHECK_EQUAL(dovetail_barrier_arrive_and_drop(all.barrier), 0);
  }
  CHECK_EQUAL(dovetail_barrier_arrive_and_drop(all.barrier), -EINVAL);
  dovetail_barrier_destroy(all.barrier);
}

// What must not wait, and what waits for ever -------------------------------------------------------------------------

static void lock_in_callback(void* argument) {
  CHECK_EQUAL(dovetail_mutex_lock(argument), -EPERM);
  CHECK_CONTAINS(dovetail_error_message(), "a callback or an onready would wait");
  CHECK_EQUAL(dovetail_mutex_lock_for(argument, -1), -EPERM);
  CHECK_EQUAL(dovetail_mutex_try_lock(argument), 0);
}

static void test_what_must_not_wait(dovetail_runtime* runtime) {
  dovetail_mutex* const mutex = new_mutex();
  dovetail_latch* const latch = latch_of(1);
  CHECK_EQUAL(dovetail_mutex_lock(mutex), 0);
  const dovetail_access first = dovetail_access_memory(DOVETAIL_ACCESS_OUT, mutex, 1);
  dovetail_task_description task = describe(wait_for_latch, latch);
  task.accesses = &first;
  task.access_count = 1;
  dovetail_future* future = NULL;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &task, &future), 0);
  CHECK_EQUAL(dovetail_future_when_completed(future, lock_in_callback, mutex), 0);
  // Ready when the first has completed, on the thread that completes it.
  task = describe(nothing, mutex);
  task.accesses = &first;
  task.access_count = 1;
  task.onready = lock_in_callback;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &task, NULL), 0);
  let_all_run(runtime);
  CHECK_EQUAL(dovetail_latch_count_down(latch, 1), 0);
  CHECK_EQUAL(take(future), 0);
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  dovetail_mutex_destroy(mutex);
  dovetail_latch_destroy(latch);
}

struct Stuck {
  dovetail_semaphore* semaphore;
  dovetail_mutex* mutex;
  dovetail_latch* latch;
  dovetail_barrier* barrier;
  atomic_int told;
};

static int32_t note(struct Stuck* stuck, int32_t result) {
  CHECK_EQUAL(result, -EDEADLK);
  CHECK_EQUAL(dovetail_error_kind(), DOVETAIL_ERROR_STUCK);
  atomic_fetch_add(&stuck->told, 1);
  return 0;
}
static int32_t stuck_at_semaphore(void* argument) {
  struct Stuck* const stuck = argument;
  return note(stuck, dovetail_semaphore_acquire(stuck->semaphore, 1));
}
static int32_t stuck_at_mutex(void* argument) {
  struct Stuck* const stuck = argument;
  return note(stuck, dovetail_mutex_lock(stuck->mutex));
}
static int32_t stuck_at_latch(void* argument) {
  struct Stuck* const stuck = argument;
  return note(stuck, dovetail_latch_wait(stuck->latch));
}
static int32_t stuck_at_barrier(void* argument) {
  struct Stuck* const stuck = argument;
  return note(stuck, dovetail_barrier_arrive_and_wait(stuck->barrier));
}
static int32_t stuck_at_selection(void* argument) {
  struct Stuck* const stuck = argument;
  const dovetail_alternative lock = dovetail_alternative_mutex(stuck->mutex);
  return note(stuck, (int32_t)dovetail_select(&lock, 1, -1));
}

static void test_stuck(void) {
  dovetail_options options = {.size = sizeof options, .workers = 1, .stuck_after_ms = 50};
  dovetail_runtime* runtime = NULL;
  CHECK_EQUAL(dovetail_runtime_create(&options, &runtime), 0);
  struct Stuck stuck = {
      .semaphore = semaphore_of(0), .mutex = new_mutex(), .latch = latch_of(1), .barrier = barrier_of(2)};
  CHECK_EQUAL(dovetail_mutex_lock(stuck.mutex), 0);
  dovetail_fallible_body bodies[] = {stuck_at_semaphore, stuck_at_mutex, stuck_at_latch, stuck_at_barrier,
                                     stuck_at_selection};
  for (int i = 0; i < 5; ++i) {
    dovetail_future_release(spawn(runtime, bodies[i], &stuck));
  }
  CHECK_EQUAL(dovetail_runtime_wait(runtime), -EDEADLK);
  CHECK_CONTAINS(dovetail_error_message(), "waits for a Semaphore or Mutex");
  CHECK_CONTAINS(dovetail_error_message(), "waits for a Latch");
  CHECK_CONTAINS(dovetail_error_message(), "waits for a Barrier");
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  CHECK_EQUAL(atomic_load(&stuck.told), 5);
  CHECK_EQUAL(dovetail_mutex_unlock(stuck.mutex), 0);
  CHECK_EQUAL(dovetail_mutex_try_lock(stuck.mutex), 1);  // nobody stands in line any more
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
  dovetail_semaphore_destroy(stuck.semaphore);
  dovetail_mutex_destroy(stuck.mutex);
  dovetail_latch_destroy(stuck.latch);
  dovetail_barrier_destroy(stuck.barrier);
}

static void test_arguments(void) {
  dovetail_semaphore* semaphore = NULL;
  CHECK_EQUAL(dovetail_semaphore_create(-1, &semaphore), -EINVAL);
  CHECK_EQUAL(dovetail_semaphore_create(1, NULL), -EINVAL);
  CHECK(semaphore == NULL);
  semaphore = semaphore_of(1);
  CHECK_EQUAL(dovetail_semaphore_acquire(semaphore, -1), -EINVAL);
  CHECK_EQUAL(dovetail_semaphore_acquire_for(semaphore, -1, 0), -EINVAL);
  CHECK_EQUAL(dovetail_semaphore_try_acquire(semaphore, -1), -EINVAL);
  CHECK_EQUAL(dovetail_semaphore_release(semaphore, -1), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "'units' is -1");
  CHECK_EQUAL(dovetail_semaphore_available(semaphore), 1);
  CHECK_EQUAL(dovetail_semaphore_acquire(NULL, 1), -EINVAL);
  CHECK_EQUAL(dovetail_semaphore_available(NULL), -EINVAL);
  dovetail_semaphore_destroy(semaphore);
  dovetail_semaphore_destroy(NULL);
  CHECK_EQUAL(dovetail_mutex_create(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_mutex_lock(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_mutex_lock_for(NULL, 0), -EINVAL);
  CHECK_EQUAL(dovetail_mutex_try_lock(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_mutex_unlock(NULL), -EINVAL);
  dovetail_mutex_destroy(NULL);
  CHECK_EQUAL(dovetail_latch_create(1, NULL), -EINVAL);
  CHECK_EQUAL(dovetail_latch_count_down(NULL, 1), -EINVAL);
  CHECK_EQUAL(dovetail_latch_try_wait(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_latch_wait(NULL), -EINVAL);
  dovetail_latch_destroy(NULL);
  dovetail_barrier* barrier = NULL;
  CHECK_EQUAL(dovetail_barrier_create(0, &barrier), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "at least one");
  CHECK_EQUAL(dovetail_barrier_create(1, NULL), -EINVAL);
  CHECK_EQUAL(dovetail_barrier_arrive_and_wait(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_barrier_arrive_and_drop(NULL), -EINVAL);
  dovetail_barrier_destroy(NULL);
}

int main(void) {
  test_arguments();
  dovetail_runtime* const two = start_runtime(2);
  test_a_lock_across_a_read(two);
  CHECK_EQUAL(dovetail_runtime_destroy(two), 0);
  dovetail_runtime* const runtime = start_runtime(1);
  test_semaphore(runtime);
  test_mutex(runtime);
  test_latch(runtime);
  test_barrier(runtime);
  test_what_must_not_wait(runtime);
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
  test_stuck();
  return 0;
}
