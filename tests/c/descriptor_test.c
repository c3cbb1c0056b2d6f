// The operations on raw descriptors.
#include <unistd.h>

#include "check.h"

enum { block = 6000 };

static int32_t use_plain_operations(void* argument) {
  const int32_t descriptor = *(const int32_t*)argument;
  char written[block];
  char read_back[block] = {0};
  memset(written, 'w', sizeof written);
  const dovetail_buffer written_parts[2] = {{written, 100}, {written + 100, block - 100}};
  const dovetail_buffer read_parts[2] = {{read_back, block - 1}, {read_back + block - 1, 1}};
  CHECK_EQUAL(dovetail_descriptor_pwrite(descriptor, written, block, 3), block);
  CHECK_EQUAL(dovetail_descriptor_pread(descriptor, read_back, block, 3), block);
  CHECK(memcmp(written, read_back, block) == 0);
  memset(written, 'v', sizeof written);
  CHECK_EQUAL(dovetail_descriptor_pwritev(descriptor, written_parts, 2, 3), block);
  CHECK_EQUAL(dovetail_descriptor_preadv(descriptor, read_parts, 2, 3), block);
  CHECK(memcmp(written, read_back, block) == 0);
  CHECK_EQUAL(dovetail_descriptor_fsync(descriptor), 0);
  CHECK_EQUAL(dovetail_descriptor_fdatasync(descriptor), 0);
  const int32_t reserved = dovetail_descriptor_fallocate(descriptor, 0, 0, 2 * block);
  CHECK(reserved == 0 || reserved == -EOPNOTSUPP);
  return 0;
}

struct Bound {
  int32_t descriptor;
  char bytes[block];
  size_t transferred[4];
};

static int32_t bind_writes(void* argument) {
  struct Bound* const bound = argument;
  const dovetail_buffer half = {bound->bytes + block / 2, block / 2};
  CHECK_EQUAL(dovetail_descriptor_ipwrite(bound->descriptor, bound->bytes, block / 2, 0, &bound->transferred[0]), 0);
  CHECK_EQUAL(dovetail_descriptor_ipwritev(bound->descriptor, &half, 1, block / 2, &bound->transferred[1]), 0);
  return 0;
}

static int32_t bind_the_rest(void* argument) {
  struct Bound* const bound = argument;
  const dovetail_buffer half = {bound->bytes + block / 2, block / 2};
  CHECK_EQUAL(dovetail_descriptor_ipread(bound->descriptor, bound->bytes, block / 2, 0, &bound->transferred[2]), 0);
  CHECK_EQUAL(dovetail_descriptor_ipreadv(bound->descriptor, &half, 1, block / 2, &bound->transferred[3]), 0);
  CHECK_EQUAL(dovetail_descriptor_ifsync(bound->descriptor), 0);
  CHECK_EQUAL(dovetail_descriptor_ifdatasync(bound->descriptor), 0);
  return 0;
}

static void test_bound_operations(dovetail_runtime* runtime, int32_t descriptor) {
  static struct Bound bound;
  bound.descriptor = descriptor;
  memset(bound.bytes, 'b', block);
  CHECK_EQUAL(run_task(runtime, bind_writes, &bound), 0);
  memset(bound.bytes, 0, block);
  CHECK_EQUAL(run_task(runtime, bind_the_rest, &bound), 0);
  for (int i = 0; i < 4; ++i) {
    CHECK_EQUAL(bound.transferred[i], block / 2);
  }
  for (int i = 0; i < block; ++i) {
    CHECK_EQUAL(bound.bytes[i], 'b');
  }
}

static void test_closed_descriptor(void) {
  const int32_t closed = 1 << 20;
  char byte = 0;
  const dovetail_buffer part = {&byte, 1};
  CHECK_EQUAL(dovetail_descriptor_pread(closed, &byte, 1, 0), -EBADF);
  CHECK_CONTAINS(dovetail_error_path(), "1048576");
  CHECK_EQUAL(dovetail_descriptor_pwrite(closed, &byte, 1, 0), -EBADF);
  CHECK_EQUAL(dovetail_descriptor_preadv(closed, &part, 1, 0), -EBADF);
  CHECK_EQUAL(dovetail_descriptor_pwritev(closed, &part, 1, 0), -EBADF);
  CHECK_EQUAL(dovetail_descriptor_fsync(closed), -EBADF);
  CHECK_EQUAL(dovetail_descriptor_fdatasync(closed), -EBADF);
  CHECK_EQUAL(dovetail_descriptor_fallocate(closed, 0, 0, 1), -EBADF);
  CHECK_EQUAL(dovetail_descriptor_ipread(closed, &byte, 1, 0, NULL), -EBADF);
  CHECK_EQUAL(dovetail_descriptor_ipwrite(closed, &byte, 1, 0, NULL), -EBADF);
  CHECK_EQUAL(dovetail_descriptor_ipreadv(closed, &part, 1, 0, NULL), -EBADF);
  CHECK_EQUAL(dovetail_descriptor_ipwritev(closed, &part, 1, 0, NULL), -EBADF);
  CHECK_EQUAL(dovetail_descriptor_ifsync(closed), -EBADF);
  CHECK_EQUAL(dovetail_descriptor_ifdatasync(closed), -EBADF);
  CHECK_EQUAL(dovetail_descriptor_pread(0, &byte, 1, -1), -EINVAL);
  CHECK_EQUAL(dovetail_descriptor_pwrite(0, NULL, 1, 0), -EINVAL);
}

int main(void) {
  char path[] = "descriptor_test_XXXXXX";
  int32_t descriptor = mkstemp(path);
  CHECK(descriptor >= 0);
  dovetail_runtime* const runtime = start_runtime(2);
  CHECK_EQUAL(use_plain_operations(&descriptor), 0);
  CHECK_EQUAL(run_task(runtime, use_plain_operations, &descriptor), 0);
  test_bound_operations(runtime, descriptor);
  test_closed_descriptor();
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
  CHECK_EQUAL(close(descriptor), 0);
  CHECK_EQUAL(unlink(path), 0);
  return 0;
}
