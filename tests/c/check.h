// Checks for tests in C, which fail by exit status. A check may fail in any thread, so the process ends at once.
#ifndef DOVETAIL_TESTS_C_CHECK_H
#define DOVETAIL_TESTS_C_CHECK_H

#include <dovetail/dovetail.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void check_failed(const char* file, int line, const char* text) {
  fprintf(stderr, "%s:%d: failed: %s\n  last error: %s\n", file, line, text, dovetail_error_message());
  fflush(NULL);
  _Exit(1);
}

static inline void check_equal(const char* file, int line, const char* text, int64_t left, int64_t right) {
  if (left != right) {
    fprintf(stderr, "%s:%d: %" PRId64 " is not %" PRId64 "\n", file, line, left, right);
    check_failed(file, line, text);
  }
}

static inline void check_contains(const char* file, int line, const char* text, const char* part) {
  if (strstr(text, part) == NULL) {
    fprintf(stderr, "%s:%d: '%s' does not contain '%s'\n", file, line, text, part);
    check_failed(file, line, "text");
  }
}

#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))
#define CHECK_EQUAL(left, right) check_equal(__FILE__, __LINE__, #left " == " #right, (int64_t)(left), (int64_t)(right))
#define CHECK_CONTAINS(text, part) check_contains(__FILE__, __LINE__, text, part)

// A runtime with so many workers.
static inline dovetail_runtime* start_runtime(int32_t workers) {
  dovetail_options options = {.size = sizeof options, .workers = workers};
  dovetail_runtime* runtime = NULL;
  CHECK_EQUAL(dovetail_runtime_create(&options, &runtime), 0);
  return runtime;
}

// A description whose size is set.
static inline dovetail_task_description describe(dovetail_fallible_body body, void* argument) {
  dovetail_task_description description = {.size = sizeof description, .fallible_body = body, .argument = argument};
  return description;
}

// Runs a body as a task and returns what `dovetail_future_get` says.
static inline int32_t run_task(dovetail_runtime* runtime, dovetail_fallible_body body, void* argument) {
  const dovetail_task_description description = describe(body, argument);
  dovetail_future* future = NULL;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, &future), 0);
  const int32_t result = dovetail_future_get(future);
  dovetail_future_release(future);
  return result;
}

#endif
