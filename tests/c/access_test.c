// Order by accesses to memory and to files.
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "check.h"

enum { chain_length = 500 };

static int next_in_chain;

static int32_t check_order(void* argument) {
  CHECK_EQUAL(next_in_chain, *(const int*)argument);
  ++next_in_chain;
  return 0;
}

// `next_in_chain` is no atomic: only the declared order keeps the tasks apart.
static void run_chain(dovetail_runtime* runtime, const dovetail_access* accesses, size_t count) {
  next_in_chain = 0;
  for (int i = 0; i < chain_length; ++i) {
    dovetail_task_description description = describe(check_order, &i);
    description.argument_size = sizeof i;
    description.accesses = accesses;
    description.access_count = count;
    CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, NULL), 0);
  }
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  CHECK_EQUAL(next_in_chain, chain_length);
}

static void test_chains_in_memory(dovetail_runtime* runtime) {
  char bytes[64] = {0};
  const dovetail_access one = dovetail_access_memory(DOVETAIL_ACCESS_INOUT, bytes, sizeof bytes);
  CHECK_EQUAL(one.mode, DOVETAIL_ACCESS_INOUT);
  CHECK_EQUAL(one.space, 0);
  CHECK_EQUAL(one.begin, (intptr_t)bytes);
  CHECK_EQUAL(one.length, sizeof bytes);
  run_chain(runtime, &one, 1);

  dovetail_access many[20];
  for (int i = 0; i < 20; ++i) {
    many[i] = dovetail_access_memory(i == 19 ? DOVETAIL_ACCESS_OUT : DOVETAIL_ACCESS_IN, bytes + i, 1);
  }
  run_chain(runtime, many, 20);

  const dovetail_access commutative = dovetail_access_memory(DOVETAIL_ACCESS_COMMUTATIVE, bytes, 4);
  CHECK_EQUAL(commutative.mode, DOVETAIL_ACCESS_COMMUTATIVE);
}

static int updates;

static void update(void* argument) {
  (void)argument;
  ++updates;
}

static void test_commutative(dovetail_runtime* runtime) {
  const dovetail_access access = dovetail_access_memory(DOVETAIL_ACCESS_COMMUTATIVE, &updates, sizeof updates);
  const dovetail_task_description description = {
      .size = sizeof description, .body = update, .accesses = &access, .access_count = 1};
  for (int i = 0; i < chain_length; ++i) {
    CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, NULL), 0);
  }
  CHECK_EQUAL(dovetail_runtime_wait(runtime), 0);
  CHECK_EQUAL(updates, chain_length);
}

static void test_chains_in_files(dovetail_runtime* runtime) {
  char path[] = "access_test_XXXXXX";
  const int descriptor = mkstemp(path);
  CHECK(descriptor >= 0);
  dovetail_file* file = NULL;
  CHECK_EQUAL(dovetail_file_open(path, O_RDWR, NULL, &file), 0);
  const dovetail_access by_file = dovetail_access_file(DOVETAIL_ACCESS_INOUT, file, 100, 50);
  const dovetail_access by_descriptor = dovetail_access_descriptor(DOVETAIL_ACCESS_INOUT, descriptor, 100, 50);
  CHECK(by_file.space != 0);
  CHECK_EQUAL(by_file.space, dovetail_file_space(file));
  CHECK_EQUAL(by_file.space, by_descriptor.space);
  CHECK_EQUAL(by_file.begin, 100);
  CHECK_EQUAL(by_file.length, 50);
  run_chain(runtime, &by_file, 1);
  run_chain(runtime, &by_descriptor, 1);

  CHECK_EQUAL(dovetail_access_file(DOVETAIL_ACCESS_IN, NULL, 0, 1).mode, -EINVAL);
  CHECK_EQUAL(dovetail_access_file(DOVETAIL_ACCESS_IN, file, -1, 1).mode, -EINVAL);
  CHECK_EQUAL(dovetail_access_file(DOVETAIL_ACCESS_IN, file, 0, -1).mode, -EINVAL);
  CHECK_EQUAL(dovetail_access_file(4, file, 0, 1).mode, -EINVAL);
  CHECK_EQUAL(dovetail_access_descriptor(-1, descriptor, 0, 1).mode, -EINVAL);
  CHECK_EQUAL(dovetail_file_close(file), 0);
  CHECK_EQUAL(close(descriptor), 0);
  CHECK_EQUAL(unlink(path), 0);
}

// An access that could not be made is found by the spawn, with its own errno.
static void test_refused_accesses(dovetail_runtime* runtime) {
  dovetail_access accesses[2] = {dovetail_access_memory(DOVETAIL_ACCESS_IN, &updates, sizeof updates),
                                 dovetail_access_descriptor(DOVETAIL_ACCESS_IN, 1 << 20, 0, 8)};
  CHECK_EQUAL(accesses[1].mode, -EBADF);
  dovetail_task_description description = {
      .size = sizeof description, .body = update, .accesses = accesses, .access_count = 2};
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, NULL), -EBADF);
  CHECK_CONTAINS(dovetail_error_message(), "access 1");
  accesses[1].mode = 9;
  CHECK_EQUAL(dovetail_runtime_spawn(runtime, &description, NULL), -EINVAL);
}

int main(void) {
  dovetail_runtime* const runtime = start_runtime(2);
  test_chains_in_memory(runtime);
  test_commutative(runtime);
  test_chains_in_files(runtime);
  test_refused_accesses(runtime);
  CHECK_EQUAL(dovetail_runtime_destroy(runtime), 0);
  return 0;
}
