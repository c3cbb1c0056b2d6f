// Files that are read whole, in a task and outside of one.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static const size_t sizes[] = {0, 1, 4095, 4096, 128 * 1024, 128 * 1024 + 1, 3000001};
enum { size_count = sizeof sizes / sizeof sizes[0] };

static unsigned char pattern(size_t index) { return (unsigned char)(1 + index * 31 % 255); }

struct Names {
  const char* folder;
  char files[size_count][64];
};

static void make_files(struct Names* names) {
  for (int i = 0; i < size_count; ++i) {
    snprintf(names->files[i], sizeof names->files[i], "%s/%zu", names->folder, sizes[i]);
    FILE* const file = fopen(names->files[i], "wb");
    CHECK(file != NULL);
    for (size_t byte = 0; byte < sizes[i]; ++byte) {
      CHECK(fputc(pattern(byte), file) != EOF);
    }
    CHECK_EQUAL(fclose(file), 0);
  }
}

static int32_t read_all_sizes(void* argument) {
  const struct Names* const names = argument;
  for (int i = 0; i < size_count; ++i) {
    void* data = NULL;
    CHECK_EQUAL(dovetail_read_file(names->files[i], &data), sizes[i]);
    const unsigned char* const bytes = data;
    for (size_t byte = 0; byte < sizes[i]; ++byte) {
      CHECK_EQUAL(bytes[byte], pattern(byte));
    }
    CHECK_EQUAL(bytes[sizes[i]], 0);
    dovetail_data_destroy(data);
  }
  return 0;
}

// The first has no size before it is read, and gives all of itself at offset 0 alone. The second is longer than one page.
static int32_t read_what_has_no_size(void* argument) {
  (void)argument;
  void* data = NULL;
  CHECK(dovetail_read_file("/proc/sys/kernel/pid_max", &data) > 2);
  char number[32];
  snprintf(number, sizeof number, "%ld\n", atol(data));
  CHECK(strcmp(data, number) == 0);
  dovetail_data_destroy(data);
  const int64_t bytes = dovetail_read_file("/proc/self/smaps", &data);
  CHECK(bytes > 4096);
  CHECK_EQUAL(strlen(data), bytes);
  CHECK_EQUAL(((const char*)data)[bytes - 1], '\n');
  CHECK_CONTAINS(data, "VmFlags");
  dovetail_data_destroy(data);
  return 0;
}

static int32_t read_what_cannot_be_read(void* argument) {
  const struct Names* const names = argument;
  char missing[64];
  snprintf(missing, sizeof missing, "%s/missing", names->folder);
  char byte = 0;
  void* data = &byte;
  CHECK_EQUAL(dovetail_read_file(missing, &data), -ENOENT);
  CHECK_CONTAINS(dovetail_error_path(), missing);
  CHECK_EQUAL(dovetail_error_kind(), DOVETAIL_ERROR_IO);
  CHECK_EQUAL(dovetail_read_file(names->folder, &data), -EISDIR);
  CHECK_CONTAINS(dovetail_error_message(), names->folder);
  CHECK_EQUAL(dovetail_read_file(NULL, &data), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "path");
  CHECK_EQUAL(dovetail_read_file("", &data), -ENOENT);
  CHECK(data == &byte);
  CHECK_EQUAL(dovetail_read_file(missing, NULL), -EINVAL);
  return 0;
}

static int32_t read_fifo(void* argument) {
  void* data = NULL;
  CHECK_EQUAL(dovetail_read_file(argument, &data), 3);
  CHECK(strcmp(data, "abc") == 0);
  dovetail_data_destroy(data);
  return 0;
}

static int32_t write_fifo(void* argument) {
  dovetail_file* file = NULL;
  CHECK_EQUAL(dovetail_file_open(argument, O_WRONLY, NULL, &file), 0);
  CHECK_EQUAL(dovetail_file_pwrite(file, "abc", 3, 0), 3);
  CHECK_EQUAL(dovetail_file_close(file), 0);
  return 0;
}

// The only worker runs the other end while the reader waits for it.
static void test_pausing(const struct Names* names) {
  char fifo[64];
  snprintf(fifo, sizeof fifo, "%s/fifo", names->folder);
  CHECK_EQUAL(mkfifo(fifo, 0600), 0);
  dovetail_runtime* const runtime = start_runtime(1);
  const dovetail_task_description reader = describe(read_fifo, fifo);
  dovetail_future* future = NULL;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &reader, &future), 0);
  CHECK_EQUAL(run_task(runtime, write_fifo, fifo), 0);
  CHECK_EQUAL(dovetail_future_get(future), 0);
  dovetail_future_release(future);
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
  CHECK_EQUAL(unlink(fifo), 0);
}

int main(void) {
  char folder[] = "whole_file_test_XXXXXX";
  CHECK(mkdtemp(folder) != NULL);
  struct Names names = {.folder = folder};
  make_files(&names);
  dovetail_runtime* const runtime = start_runtime(2);
  static const dovetail_fallible_body uses[] = {read_all_sizes, read_what_has_no_size, read_what_cannot_be_read};
  for (int use = 0; use < 3; ++use) {
    CHECK_EQUAL(uses[use](&names), 0);
    for (int time = 0; time < 3; ++time) {  // what is known of the folder differs
      CHECK_EQUAL(run_task(runtime, uses[use], &names), 0);
    }
  }
  test_pausing(&names);
  dovetail_data_destroy(NULL);
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
  for (int i = 0; i < size_count; ++i) {
    CHECK_EQUAL(unlink(names.files[i]), 0);
  }
  CHECK_EQUAL(rmdir(folder), 0);
  return 0;
}
