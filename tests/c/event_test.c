// Events, suspending and resuming, polling services.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "check.h"

struct Waiter {
  _Atomic(dovetail_events*) events;
  _Atomic(dovetail_handle*) handle;
  atomic_int body_ran;
};

static int32_t add_two_events(void* argument) {
  struct Waiter* const waiter = argument;
  dovetail_events* events = NULL;
  CHECK_EQUAL(dovetail_task_events(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_task_events(&events), 0);
  CHECK_EQUAL(dovetail_events_add(events, 2), 0);
  atomic_store(&waiter->body_ran, 1);
  atomic_store(&waiter->events, events);
  return 5;
}

static dovetail_events* wait_for_events(struct Waiter* waiter) {
  dovetail_events* events = NULL;
  while ((events = atomic_load(&waiter->events)) == NULL) {
  }
  return events;
}

static void test_events_delay_completion(dovetail_runtime* runtime) {
  struct Waiter waiter = {0};
  const dovetail_task_description description = describe(add_two_events, &waiter);
  dovetail_future* future = NULL;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, &future), 0);
  dovetail_events* const events = wait_for_events(&waiter);
  CHECK_EQUAL(dovetail_events_fulfill(events, 1), 0);
  CHECK_EQUAL(dovetail_future_ready(future), 0);
  CHECK_EQUAL(dovetail_events_fulfill(events, 1), 0);
  CHECK_EQUAL(dovetail_future_get(future), 5);
  dovetail_future_release(future);
}

static void test_failing_events(dovetail_runtime* runtime) {
  struct Waiter waiter = {0};
  const dovetail_task_description description = describe(add_two_events, &waiter);
  dovetail_future* future = NULL;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, &future), 0);
  dovetail_events* const events = wait_for_events(&waiter);
  CHECK_EQUAL(dovetail_events_fail(events, 0, "not an error"), -EINVAL);
  CHECK_EQUAL(dovetail_events_fail(events, -ENOLINK, "the cable is cut"), 0);
  CHECK_EQUAL(dovetail_events_fail(events, -EIO, NULL), 0);
  CHECK_EQUAL(dovetail_future_get(future), -ENOLINK);
  CHECK_CONTAINS(dovetail_error_message(), "the cable is cut");
  dovetail_future_release(future);

  CHECK_EQUAL(dovetail_events_add(NULL, 1), -EINVAL);
  CHECK_EQUAL(dovetail_events_fulfill(NULL, 1), -EINVAL);
  CHECK_EQUAL(dovetail_events_fail(NULL, -EIO, NULL), -EINVAL);
  dovetail_events* none = NULL;
  CHECK_EQUAL(dovetail_task_events(&none), -EPERM);
}

static void add_event_before_body(void* argument) {
  struct Waiter* const waiter = argument;
  dovetail_events* events = NULL;
  CHECK_EQUAL(dovetail_task_events(&events), 0);
  CHECK_EQUAL(dovetail_events_add(events, 1), 0);
  atomic_store(&waiter->events, events);
}

static int32_t note_run(void* argument) {
  atomic_store(&((struct Waiter*)argument)->body_ran, 1);
  return 0;
}

static void test_events_delay_the_body(dovetail_runtime* runtime) {
  struct Waiter waiter = {0};
  dovetail_task_description description = describe(note_run, &waiter);
  description.onready = add_event_before_body;
  dovetail_future* future = NULL;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, &future), 0);
  dovetail_events* const events = wait_for_events(&waiter);
  CHECK_EQUAL(waiter.body_ran, 0);
  CHECK_EQUAL(dovetail_events_fulfill(events, 1), 0);
  CHECK_EQUAL(dovetail_future_get(future), 0);
  CHECK_EQUAL(waiter.body_ran, 1);
  dovetail_future_release(future);
}

static int32_t suspend_twice(void* argument) {
  struct Waiter* const waiter = argument;
  dovetail_handle* handle = NULL;
  CHECK_EQUAL(dovetail_handle_current(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_handle_current(&handle), 0);
  CHECK_EQUAL(dovetail_handle_resume(handle), 0);  // before the suspend: kept
  CHECK_EQUAL(dovetail_task_suspend(), 0);
  atomic_store(&waiter->handle, handle);
  CHECK_EQUAL(dovetail_task_suspend(), 0);
  return 1;
}

static void* resume_from_thread(void* argument) {
  struct Waiter* const waiter = argument;
  dovetail_handle* handle = NULL;
  while ((handle = atomic_load(&waiter->handle)) == NULL) {
  }
  CHECK_EQUAL(dovetail_handle_resume(handle), 0);
  return NULL;
}

static void test_suspend_and_resume(dovetail_runtime* runtime) {
  struct Waiter waiter = {0};
  pthread_t thread;
  CHECK_EQUAL(pthread_create(&thread, NULL, resume_from_thread, &waiter), 0);
  CHECK_EQUAL(run_task(runtime, suspend_twice, &waiter), 1);
  CHECK_EQUAL(pthread_join(thread, NULL), 0);
  CHECK_EQUAL(dovetail_handle_resume(waiter.handle), 0);  // the task has completed: nothing happens
  dovetail_handle_release(waiter.handle);
  dovetail_handle_release(NULL);
  CHECK_EQUAL(dovetail_handle_resume(NULL), -EINVAL);
  dovetail_handle* handle = NULL;
  CHECK_EQUAL(dovetail_handle_current(&handle), -EPERM);
  CHECK_EQUAL(dovetail_task_suspend(), -EPERM);
}

static int32_t suspend_for_ever(void* argument) {
  (void)argument;
  return dovetail_task_suspend();
}

// No code holds a handle of the task, so it can never be resumed.
static void test_stuck(void) {
  dovetail_options options = {.size = sizeof options, .workers = 2, .stuck_after_ms = 50};
  dovetail_runtime* runtime = NULL;
  CHECK_EQUAL(dovetail_runtime_create(&options, &runtime), 0);
  dovetail_task_description description = describe(suspend_for_ever, NULL);
  description.label = "sleeping beauty";
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, NULL), 0);
  CHECK_EQUAL(dovetail_runtime_wait(runtime), -EDEADLK);
  CHECK_CONTAINS(dovetail_error_message(), "sleeping beauty");
  dovetail_runtime_wait(runtime);
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
}

struct Device {
  dovetail_polling* polling;
  _Atomic(dovetail_events*) events;
  atomic_int polls_left;
  atomic_bool looked;  // the body has seen what is pending
};

static size_t poll_device(void* argument) {
  struct Device* const device = argument;
  CHECK_EQUAL(dovetail_task_active(), 0);
  if (atomic_fetch_sub(&device->polls_left, 1) != 1) {
    return 0;
  }
  CHECK_EQUAL(dovetail_events_fulfill(atomic_load(&device->events), 1), 0);
  return 1;
}

static int32_t start_on_device(void* argument) {
  struct Device* const device = argument;
  dovetail_events* events = NULL;
  CHECK_EQUAL(dovetail_task_events(&events), 0);
  CHECK_EQUAL(dovetail_events_add(events, 1), 0);
  atomic_store(&device->events, events);
  CHECK_EQUAL(dovetail_polling_add_pending(device->polling, 1), 0);
  CHECK_EQUAL(dovetail_polling_pending(device->polling), 1);
  CHECK_EQUAL(dovetail_polling_destroy(device->polling), -EBUSY);
  atomic_store(&device->looked, true);
  return 0;
}

static void test_polling(dovetail_runtime* runtime) {
  struct Device device = {.polls_left = 20};
  CHECK_EQUAL(dovetail_polling_create(runtime, "device", 1000, 50000, poll_device, &device, -1, &device.polling), 0);
  CHECK_EQUAL(dovetail_polling_pending(device.polling), 0);
  const dovetail_task_description description = describe(start_on_device, &device);
  dovetail_future* future = NULL;
  // The first poll must not find the pending operation while the body still looks at it.
  device.polls_left = 1 << 30;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, &future), 0);
  while (!atomic_load(&device.looked) || atomic_load(&device.polls_left) > (1 << 30) - 5) {
  }
  CHECK_EQUAL(dovetail_future_ready(future), 0);
  atomic_store(&device.polls_left, 3);
  CHECK_EQUAL(dovetail_future_get(future), 0);
  CHECK(dovetail_polling_interval(device.polling) >= 1000);
  CHECK(dovetail_polling_interval(device.polling) <= 50000);
  dovetail_future_release(future);
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  while (dovetail_polling_destroy(device.polling) == -EBUSY) {
  }
  CHECK_EQUAL(dovetail_polling_destroy(NULL), 0);
}

static void test_refused_polling(dovetail_runtime* runtime) {
  dovetail_polling* polling = NULL;
  CHECK_EQUAL(dovetail_polling_create(NULL, "", 0, 0, poll_device, NULL, -1, &polling), -EINVAL);
  CHECK_EQUAL(dovetail_polling_create(runtime, "", 0, 0, NULL, NULL, -1, &polling), -EINVAL);
  CHECK_EQUAL(dovetail_polling_create(runtime, "", 0, 0, poll_device, NULL, -1, NULL), -EINVAL);
  CHECK_EQUAL(dovetail_polling_create(runtime, "", -1, 0, poll_device, NULL, -1, &polling), -EINVAL);
  CHECK_EQUAL(dovetail_polling_create(runtime, "", 2000, 1000, poll_device, NULL, -1, &polling), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "shortest_ns");
  CHECK_EQUAL(dovetail_polling_add_pending(NULL, 1), -EINVAL);
  CHECK_EQUAL(dovetail_polling_pending(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_polling_interval(NULL), -EINVAL);
}

int main(void) {
  dovetail_runtime* const runtime = start_runtime(2);
  test_events_delay_completion(runtime);
  test_failing_events(runtime);
  test_events_delay_the_body(runtime);
  test_suspend_and_resume(runtime);
  test_polling(runtime);
  test_refused_polling(runtime);
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
  test_stuck();
  return 0;
}
