// Starting and ending runtimes, and what options do.
#include "check.h"

static int32_t return_seven(void* argument) {
  (void)argument;
  return 7;
}

static int32_t fail_with_domain_error(void* argument) {
  (void)argument;
  return -EDOM;
}

static int32_t misuse_the_runtime(void* argument) {
  dovetail_runtime* const runtime = argument;
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), -EPERM);
  CHECK_EQUAL(dovetail_error_kind(), DOVETAIL_ERROR_CONTEXT);
  CHECK_CONTAINS(dovetail_error_message(), "dovetail_runtime_destroy");
  CHECK_EQUAL(dovetail_runtime_wait(runtime), -EPERM);
  return 0;
}

static void test_defaults(void) {
  dovetail_runtime* runtime = NULL;
  CHECK_EQUAL(dovetail_runtime_create(NULL, &runtime), 0);
  CHECK(dovetail_runtime_workers(runtime) >= 1);
  // No task is ended because others take long; what waits for what is said after 5 s.
  dovetail_options in_force = {.size = sizeof in_force};
  CHECK_EQUAL(dovetail_runtime_options(runtime, &in_force), 0);
  CHECK_EQUAL(in_force.stuck_after_ms, -1);
  CHECK_EQUAL(in_force.report_after_ms, 5000);
  CHECK_EQUAL(run_task(runtime, return_seven, NULL), 7);
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
  CHECK_EQUAL(dovetail_runtime_destroy(NULL), 0);
}

static void test_options_in_force(void) {
  dovetail_options options = {.size = sizeof options,
                              .workers = 3,
                              .io_executors = 5,
                              .engine = "threads",
                              .stack_size = 65536,
                              .stuck_after_ms = -1};
  dovetail_runtime* runtime = NULL;
  CHECK_EQUAL(dovetail_runtime_create(&options, &runtime), 0);
  CHECK_EQUAL(dovetail_runtime_workers(runtime), 3);
  dovetail_options in_force = {.size = sizeof in_force};
  CHECK_EQUAL(dovetail_runtime_options(runtime, &in_force), 0);
  CHECK_EQUAL(in_force.workers, 3);
  CHECK_EQUAL(in_force.io_executors, 5);
  CHECK_EQUAL(in_force.stack_size, 65536);
  CHECK_EQUAL(in_force.stuck_after_ms, -1);
  CHECK(strcmp(in_force.engine, "threads") == 0);
  CHECK_EQUAL(dovetail_runtime_options(runtime, NULL), -EINVAL);
  in_force.size = 8;
  CHECK_EQUAL(dovetail_runtime_options(runtime, &in_force), -EINVAL);
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
}

static void test_refused_options(void) {
  dovetail_runtime* runtime = NULL;
  CHECK_EQUAL(dovetail_runtime_create(NULL, NULL), -EINVAL);
  CHECK_EQUAL(dovetail_error_kind(), DOVETAIL_ERROR_ARGUMENT);

  dovetail_options options = {.workers = 2};
  CHECK_EQUAL(dovetail_runtime_create(&options, &runtime), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "size");

  options.size = sizeof options;
  options.workers = -2;
  CHECK_EQUAL(dovetail_runtime_create(&options, &runtime), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "workers");

  options.workers = 2;
  options.engine = "steam";
  CHECK_EQUAL(dovetail_runtime_create(&options, &runtime), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "steam");

  options.engine = NULL;
  options.reserved = 1;
  CHECK_EQUAL(dovetail_runtime_create(&options, &runtime), -EINVAL);
  CHECK(runtime == NULL);

  CHECK_EQUAL(dovetail_runtime_wait(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_runtime_cancel(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_runtime_workers(NULL), -EINVAL);
}

// A caller compiled with a later version passes a larger structure: fine as long as it sets nothing that is new.
static void test_structures_grow(void) {
  struct {
    dovetail_options options;
    int64_t later;
  } grown = {.options = {.size = sizeof grown, .workers = 2}};
  dovetail_runtime* runtime = NULL;
  CHECK_EQUAL(dovetail_runtime_create(&grown.options, &runtime), 0);
  CHECK_EQUAL(dovetail_runtime_workers(runtime), 2);
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
  grown.later = 1;
  CHECK_EQUAL(dovetail_runtime_create(&grown.options, &runtime), -E2BIG);
}

static void test_wait_reports_each_failure_once(void) {
  dovetail_runtime* const runtime = start_runtime(2);
  dovetail_task_description description = describe(fail_with_domain_error, NULL);
  description.label = "outside its domain";
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, NULL), 0);
  CHECK_EQUAL(dovetail_runtime_wait(runtime), -EDOM);
  CHECK_EQUAL(dovetail_error_kind(), DOVETAIL_ERROR_TASK);
  CHECK(strcmp(dovetail_error_label(), "outside its domain") == 0);
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
}

static void test_contexts(void) {
  dovetail_runtime* const runtime = start_runtime(2);
  CHECK_EQUAL(run_task(runtime, misuse_the_runtime, runtime), 0);
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
}

int main(void) {
  CHECK_EQUAL(dovetail_library_version(),
              DOVETAIL_VERSION_MAJOR * 10000 + DOVETAIL_VERSION_MINOR * 100 + DOVETAIL_VERSION_PATCH);
  test_defaults();
  test_options_in_force();
  test_refused_options();
  test_structures_grow();
  test_wait_reports_each_failure_once();
  test_contexts();
  return 0;
}
