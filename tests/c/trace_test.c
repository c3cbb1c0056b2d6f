// Recording, its totals, and the file.
#include <unistd.h>

#include "check.h"

static int32_t write_a_little(void* argument) {
  char bytes[4096];
  memset(bytes, 't', sizeof bytes);
  return dovetail_descriptor_pwrite(*(const int32_t*)argument, bytes, sizeof bytes, 0) == 4096 ? 0 : -EIO;
}

static void check_trace_file(const char* path) {
  FILE* const file = fopen(path, "r");
  CHECK(file != NULL);
  static char text[1 << 20];
  const size_t length = fread(text, 1, sizeof text - 1, file);
  text[length] = '\0';
  CHECK_EQUAL(fclose(file), 0);
  CHECK_CONTAINS(text, "\"traceEvents\"");
  CHECK_CONTAINS(text, "a labelled write");
}

int main(void) {
  char data_path[] = "trace_test_XXXXXX";
  int32_t descriptor = mkstemp(data_path);
  CHECK(descriptor >= 0);
  dovetail_runtime* const runtime = start_runtime(2);
  CHECK_EQUAL(dovetail_trace_recording(), 0);
  CHECK_EQUAL(dovetail_trace_start(), 0);
  CHECK_EQUAL(dovetail_trace_recording(), 1);
  dovetail_task_description description = describe(write_a_little, &descriptor);
  description.label = "a labelled write";
  for (int i = 0; i < 10; ++i) {
    CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, NULL), 0);
  }
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  CHECK_EQUAL(dovetail_trace_stop(), 0);
  CHECK_EQUAL(dovetail_trace_recording(), 0);

  dovetail_trace_summary summary = {.size = sizeof summary};
  CHECK_EQUAL(dovetail_trace_summarize(&summary), 0);
  CHECK_EQUAL(summary.bytes_written, 40960);
  CHECK_EQUAL(summary.bytes_read, 0);
  CHECK(summary.workers >= 1 && summary.workers <= 2);
  CHECK(summary.total > 0 && summary.io > 0 && summary.io <= summary.total);
  CHECK(summary.compute > 0 && summary.compute <= summary.total);
  CHECK(summary.hidden_share >= 0 && summary.hidden_share <= 1);
  CHECK_EQUAL(summary.communication, 0);
  CHECK_EQUAL(summary.communication_hidden_share, 0);
  /* A program of a version that had no communication gets no more than it has room for. */
  summary.size = offsetof(dovetail_trace_summary, communication);
  summary.communication = 5;
  CHECK_EQUAL(dovetail_trace_summarize(&summary), 0);
  CHECK_EQUAL(summary.communication, 5);
  CHECK_EQUAL(dovetail_trace_summarize(NULL), -EINVAL);
  summary.size = 0;
  CHECK_EQUAL(dovetail_trace_summarize(&summary), -EINVAL);

  char trace_path[] = "trace_test_XXXXXX";
  CHECK_EQUAL(close(mkstemp(trace_path)), 0);
  CHECK_EQUAL(dovetail_trace_write(trace_path), 0);
  check_trace_file(trace_path);
  CHECK_EQUAL(dovetail_trace_write(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_trace_write("/nowhere/at/all.json"), -ENOENT);
  CHECK_CONTAINS(dovetail_error_message(), "/nowhere/at/all.json");

  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
  CHECK_EQUAL(close(descriptor), 0);
  CHECK_EQUAL(unlink(data_path), 0);
  CHECK_EQUAL(unlink(trace_path), 0);
  return 0;
}
