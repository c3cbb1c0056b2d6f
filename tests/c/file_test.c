// Files: every operation, in a task and outside of one, and its errors.
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "check.h"

enum { block = 10000, pieces = 1500 };

static unsigned char pattern(size_t index) { return (unsigned char)(index * 31 + index / 251); }

static void fill(unsigned char* bytes, size_t first) {
  for (size_t i = 0; i < block; ++i) {
    bytes[i] = pattern(first + i);
  }
}

static void check_filled(const unsigned char* bytes, size_t length, size_t first) {
  for (size_t i = 0; i < length; ++i) {
    CHECK_EQUAL(bytes[i], pattern(first + i));
  }
}

// The plain operations, at offsets that are not aligned to anything.
static int32_t use_plain_operations(void* argument) {
  const dovetail_file* const file = argument;
  unsigned char bytes[block];
  CHECK_EQUAL(dovetail_file_truncate(file, 0), 0);
  fill(bytes, 7);
  CHECK_EQUAL(dovetail_file_pwrite(file, bytes, 100, 7), 100);
  CHECK_EQUAL(dovetail_file_pwrite_durable(file, bytes + 100, block - 100, 107), block - 100);
  fill(bytes, block + 7);
  const dovetail_buffer parts[3] = {{bytes, 1}, {bytes + 1, 0}, {bytes + 1, block - 1}};
  CHECK_EQUAL(dovetail_file_pwritev(file, parts, 3, block + 7), block);
  CHECK_EQUAL(dovetail_file_size(file), 2 * block + 7);
  CHECK_EQUAL(dovetail_file_fdatasync(file), 0);
  CHECK_EQUAL(dovetail_file_fsync(file), 0);
  CHECK_EQUAL(dovetail_file_drain(file), 0);

  memset(bytes, 0, sizeof bytes);
  CHECK_EQUAL(dovetail_file_pread(file, bytes, block, 100), block);
  check_filled(bytes, block, 100);
  CHECK_EQUAL(dovetail_file_preadv(file, parts, 3, 5000), block);
  check_filled(bytes, block, 5000);
  CHECK_EQUAL(dovetail_file_pread(file, bytes, block, 2 * block), 7);
  CHECK_EQUAL(dovetail_file_pread(file, bytes, block, 2 * block + 7), 0);
  CHECK_EQUAL(dovetail_file_pread(file, NULL, 0, 0), 0);

  const int32_t reserved = dovetail_file_fallocate(file, 0, 0, 3 * block);
  CHECK(reserved == 0 || reserved == -EOPNOTSUPP);
  CHECK_EQUAL(dovetail_file_truncate(file, 50), 0);
  CHECK_EQUAL(dovetail_file_size(file), 50);
  return 0;
}

static void test_prefetching(const dovetail_file* file) {
  const dovetail_range ranges[2] = {{10, 20}, {0, 5}};
  CHECK_EQUAL(dovetail_file_prefetch(file, ranges, 2), 0);
  CHECK_EQUAL(dovetail_file_prefetch(file, NULL, 0), 0);
  CHECK_EQUAL(dovetail_file_prefetch(file, NULL, 1), -EINVAL);
  CHECK_EQUAL(dovetail_file_prefetch(NULL, ranges, 2), -EINVAL);
  const dovetail_range wrong[3] = {{-1, 5}, {0, -1}, {1, INT64_MAX}};
  for (size_t i = 0; i < 3; ++i) {
    CHECK_EQUAL(dovetail_file_prefetch(file, wrong + i, 1), -EINVAL);
  }
}

// More buffers than one system call takes.
static int32_t use_many_buffers(void* argument) {
  const dovetail_file* const file = argument;
  static unsigned char bytes[pieces * 5];
  static dovetail_buffer parts[pieces];
  for (size_t i = 0; i < pieces; ++i) {
    parts[i].data = bytes + 5 * i;
    parts[i].length = 5;
  }
  for (size_t i = 0; i < sizeof bytes; ++i) {
    bytes[i] = pattern(i);
  }
  CHECK_EQUAL(dovetail_file_pwritev(file, parts, pieces, 0), sizeof bytes);
  memset(bytes, 0, sizeof bytes);
  CHECK_EQUAL(dovetail_file_preadv(file, parts, pieces, 0), sizeof bytes);
  check_filled(bytes, sizeof bytes, 0);
  return 0;
}

struct Bound {
  const dovetail_file* file;
  unsigned char first[block];
  unsigned char second[block];
  dovetail_buffer parts[2];
  size_t transferred[4];
};

static int32_t bind_writes(void* argument) {
  struct Bound* const bound = argument;
  const dovetail_buffer part = {bound->second, block};
  CHECK_EQUAL(dovetail_file_ipwrite(bound->file, bound->first, block, 0, &bound->transferred[0]), 0);
  CHECK_EQUAL(dovetail_file_ipwritev(bound->file, &part, 1, block, &bound->transferred[1]), 0);
  return 0;
}

static int32_t bind_the_rest(void* argument) {
  struct Bound* const bound = argument;
  const dovetail_buffer part = {bound->second, block};
  CHECK_EQUAL(dovetail_file_ipread(bound->file, bound->first, block, 0, &bound->transferred[2]), 0);
  CHECK_EQUAL(dovetail_file_ipreadv(bound->file, &part, 1, block, &bound->transferred[3]), 0);
  CHECK_EQUAL(dovetail_file_ifsync(bound->file), 0);
  CHECK_EQUAL(dovetail_file_ifdatasync(bound->file), 0);
  CHECK_EQUAL(dovetail_file_idrain(bound->file), 0);
  return 0;
}

static void test_bound_operations(dovetail_runtime* runtime, const dovetail_file* file) {
  static struct Bound bound;
  bound.file = file;
  fill(bound.first, 0);
  fill(bound.second, block);
  CHECK_EQUAL(run_task(runtime, bind_writes, &bound), 0);
  CHECK_EQUAL(bound.transferred[0], block);
  CHECK_EQUAL(bound.transferred[1], block);
  memset(bound.first, 0, block);
  memset(bound.second, 0, block);
  CHECK_EQUAL(run_task(runtime, bind_the_rest, &bound), 0);
  CHECK_EQUAL(bound.transferred[2], block);
  CHECK_EQUAL(bound.transferred[3], block);
  check_filled(bound.first, block, 0);
  check_filled(bound.second, block, block);
}

static int32_t bind_failing_write(void* argument) {
  static const char bytes[16];
  CHECK_EQUAL(dovetail_file_ipwrite(argument, bytes, sizeof bytes, 512, NULL), 0);
  return 0;
}

static int32_t bind_failing_sync(void* argument) {
  CHECK_EQUAL(dovetail_file_ifsync(argument), 0);
  return 0;
}

// The task's body succeeds; its operation does not, and so neither does the task.
static void test_failing_bound_operations(dovetail_runtime* runtime) {
  dovetail_file* file = NULL;
  CHECK_EQUAL(dovetail_file_open("/dev/null", O_RDONLY, NULL, &file), 0);
  CHECK_EQUAL(run_task(runtime, bind_failing_write, file), -EBADF);
  CHECK(strcmp(dovetail_error_path(), "/dev/null") == 0);
  CHECK_EQUAL(dovetail_error_offset(), 512);
  CHECK_EQUAL(dovetail_error_length(), 16);
  CHECK_EQUAL(run_task(runtime, bind_failing_sync, file), -EINVAL);
  CHECK(strcmp(dovetail_error_operation(), "fsync") == 0);
  CHECK_EQUAL(dovetail_file_close(file), 0);
}

static void test_opening(const char* path) {
  dovetail_file* file = NULL;
  CHECK_EQUAL(dovetail_file_open(NULL, O_RDONLY, NULL, &file), -EINVAL);
  CHECK_EQUAL(dovetail_file_open(path, O_RDONLY, NULL, NULL), -EINVAL);
  dovetail_file_options options = {.size = sizeof options, .direct = 4};
  CHECK_EQUAL(dovetail_file_open(path, O_RDONLY, &options, &file), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "direct");
  options.direct = DOVETAIL_DIRECT_AUTOMATIC;
  options.size = 1;
  CHECK_EQUAL(dovetail_file_open(path, O_RDONLY, &options, &file), -EINVAL);
  options.size = sizeof options;
  options.mode = 0100000;
  CHECK_EQUAL(dovetail_file_open(path, O_RDONLY, &options, &file), -EINVAL);
  options.mode = 0;
  options.urgency = 3;
  CHECK_EQUAL(dovetail_file_open(path, O_RDONLY, &options, &file), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "urgency");
  options.size = offsetof(dovetail_file_options, urgency);  // of the version that did not have it
  CHECK_EQUAL(dovetail_file_open(path, O_RDONLY, &options, &file), 0);
  CHECK_EQUAL(dovetail_file_close(file), 0);
  file = NULL;
  options = (dovetail_file_options){.size = sizeof options, .urgency = DOVETAIL_URGENCY_PREFETCH, .staged = 2};
  CHECK_EQUAL(dovetail_file_open(path, O_RDONLY, &options, &file), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "staged");
  options.staged = 0;
  CHECK_EQUAL(dovetail_file_open(path, O_RDONLY, &options, &file), 0);
  CHECK_EQUAL(dovetail_file_close(file), 0);
  file = NULL;
  CHECK(file == NULL);

  CHECK_EQUAL(dovetail_file_open(path, O_RDONLY, NULL, &file), 0);
  CHECK(strcmp(dovetail_file_path(file), path) == 0);
  CHECK(fcntl(dovetail_file_descriptor(file), F_GETFD) == FD_CLOEXEC);
  CHECK_EQUAL(dovetail_file_direct(file), 0);
  CHECK_EQUAL(dovetail_file_close(file), 0);
  CHECK_EQUAL(dovetail_file_close(NULL), 0);
}

static void test_adopting(const char* path) {
  dovetail_file* file = NULL;
  CHECK_EQUAL(dovetail_file_adopt(1 << 20, 1, &file), -EBADF);
  CHECK_EQUAL(dovetail_file_adopt(0, 0, NULL), -EINVAL);
  const int descriptor = open(path, O_RDWR);
  CHECK(descriptor >= 0);
  CHECK_EQUAL(dovetail_file_adopt(descriptor, 0, &file), 0);
  CHECK_EQUAL(dovetail_file_descriptor(file), descriptor);
  CHECK_CONTAINS(dovetail_file_path(file), "descriptor");
  CHECK_EQUAL(dovetail_file_close(file), 0);
  CHECK(fcntl(descriptor, F_GETFD) >= 0);
  CHECK_EQUAL(dovetail_file_adopt(descriptor, 1, &file), 0);
  CHECK_EQUAL(dovetail_file_close(file), 0);
  CHECK(fcntl(descriptor, F_GETFD) < 0);
}

static void test_buffers(const dovetail_file* file) {
  dovetail_io_buffer* buffer = NULL;
  CHECK_EQUAL(dovetail_io_buffer_create(10000, &buffer), 0);
  char* const data = dovetail_io_buffer_data(buffer);
  CHECK_EQUAL((uintptr_t)data % 4096, 0);
  CHECK_EQUAL(dovetail_io_buffer_size(buffer), 10000);
  CHECK_EQUAL(dovetail_io_buffer_registration(buffer), DOVETAIL_REGISTRATION_NONE);
  CHECK_EQUAL(dovetail_io_buffer_registration_error(buffer), 0);
  memset(data, 'x', 10000);
  CHECK_EQUAL(dovetail_file_pwrite(file, data, 10000, 0), 10000);
  memset(data, 'y', 10000);
  CHECK_EQUAL(dovetail_file_pread(file, data, 10000, 0), 10000);
  CHECK(data[0] == 'x' && data[9999] == 'x');
  dovetail_io_buffer_destroy(buffer);
  dovetail_io_buffer_destroy(NULL);
  CHECK(dovetail_io_buffer_data(NULL) == NULL);
  CHECK_EQUAL(dovetail_io_buffer_size(NULL), 0);
  CHECK_EQUAL(dovetail_io_buffer_registration(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_io_buffer_registration_error(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_io_buffer_create(1, NULL), -EINVAL);
  CHECK_EQUAL(dovetail_io_buffer_create((size_t)1 << 60, &buffer), -ENOMEM);
}

static void test_refused_arguments(const dovetail_file* file) {
  char byte = 0;
  const dovetail_buffer part = {&byte, 1};
  CHECK_EQUAL(dovetail_file_pread(NULL, &byte, 1, 0), -EINVAL);
  CHECK_EQUAL(dovetail_file_pread(file, NULL, 1, 0), -EINVAL);
  CHECK_EQUAL(dovetail_file_pread(file, &byte, 1, -1), -EINVAL);
  CHECK_CONTAINS(dovetail_error_message(), "offset");
  CHECK_EQUAL(dovetail_file_pwrite(NULL, &byte, 1, 0), -EINVAL);
  CHECK_EQUAL(dovetail_file_pwrite(file, NULL, 1, 0), -EINVAL);
  CHECK_EQUAL(dovetail_file_pwrite_durable(file, &byte, 1, -1), -EINVAL);
  CHECK_EQUAL(dovetail_file_preadv(file, NULL, 1, 0), -EINVAL);
  CHECK_EQUAL(dovetail_file_pwritev(file, &part, 1, -5), -EINVAL);
  CHECK_EQUAL(dovetail_file_ipread(NULL, &byte, 1, 0, NULL), -EINVAL);
  CHECK_EQUAL(dovetail_file_ipwrite(file, &byte, 1, -1, NULL), -EINVAL);
  CHECK_EQUAL(dovetail_file_ipreadv(file, NULL, 2, 0, NULL), -EINVAL);
  CHECK_EQUAL(dovetail_file_ipwritev(NULL, &part, 1, 0, NULL), -EINVAL);
  CHECK_EQUAL(dovetail_file_fsync(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_file_ifsync(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_file_drain(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_file_idrain(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_file_fdatasync(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_file_ifdatasync(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_file_fallocate(file, 0, -1, 1), -EINVAL);
  CHECK_EQUAL(dovetail_file_fallocate(file, 0, 0, -1), -EINVAL);
  CHECK_EQUAL(dovetail_file_truncate(file, -1), -EINVAL);
  CHECK_EQUAL(dovetail_file_size(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_file_direct(NULL), -EINVAL);
  CHECK_EQUAL(dovetail_file_descriptor(NULL), -EINVAL);
  CHECK(dovetail_file_path(NULL) == NULL);
  CHECK_EQUAL(dovetail_file_space(NULL), 0);
}

int main(void) {
  char path[] = "file_test_XXXXXX";
  CHECK_EQUAL(close(mkstemp(path)), 0);
  dovetail_runtime* const runtime = start_runtime(2);
  test_opening(path);
  test_adopting(path);
  for (int32_t way = DOVETAIL_DIRECT_NEVER; way <= DOVETAIL_DIRECT_ADAPTIVE + 1; ++way) {
    const int32_t staged = way > DOVETAIL_DIRECT_ADAPTIVE;
    const dovetail_file_options options = {
        .size = sizeof options, .direct = staged ? DOVETAIL_DIRECT_NEVER : way, .staged = staged, .tier = "."};
    dovetail_file* file = NULL;
    CHECK_EQUAL(dovetail_file_open(path, O_RDWR | O_CREAT, &options, &file), 0);
    CHECK_EQUAL(use_plain_operations(file), 0);
    CHECK_EQUAL(run_task(runtime, use_plain_operations, file), 0);
    CHECK_EQUAL(use_many_buffers(file), 0);
    CHECK_EQUAL(run_task(runtime, use_many_buffers, file), 0);
    test_bound_operations(runtime, file);
    test_buffers(file);
    test_refused_arguments(file);
    test_prefetching(file);
    CHECK_EQUAL(dovetail_file_close(file), 0);
  }
  test_failing_bound_operations(runtime);
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
  CHECK_EQUAL(unlink(path), 0);
  return 0;
}
