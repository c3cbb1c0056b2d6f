/* The explicit way: event sets and the asynchronous calls, compared with what the file holds natively afterwards. */
#include "checks.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { steps = 12, elements = 30000 };

static const char* const file_name = "hdf5_event_sets_test.h5";

static void fill(int* values, int step) {
  for (int element = 0; element < elements; ++element) values[element] = 1000000 * step + element;
}

static void check_natively(void) {
  const hid_t file = H5Fopen(file_name, H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(file >= 0);
  int* const read = malloc(elements * sizeof *read);
  int* const expected = malloc(elements * sizeof *expected);
  for (int step = 0; step < steps; ++step) {
    char name[32];
    (void)snprintf(name, sizeof name, "step %d", step);
    const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    CHECK(dataset >= 0);
    CHECK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) >= 0);
    fill(expected, step);
    CHECK(memcmp(read, expected, elements * sizeof *read) == 0);
    CHECK(H5Dclose(dataset) >= 0);
  }
  free(expected);
  free(read);
  CHECK(H5Fclose(file) >= 0);
}

static void wait_for_all(hid_t set) {
  size_t pending = 1;
  hbool_t failed = true;
  CHECK(H5ESwait(set, H5ES_WAIT_FOREVER, &pending, &failed) >= 0);
  CHECK(pending == 0 && !failed);
  CHECK(H5ESget_count(set, &pending) >= 0 && pending == 0);
}

/* Creates, writes and closes by asynchronous calls alone; the buffers may be used again after the wait. */
static void write_series(hid_t access) {
  const hid_t set = H5EScreate();
  const hid_t file = H5Fcreate_async(file_name, H5F_ACC_TRUNC, H5P_DEFAULT, access, set);
  CHECK(file >= 0);
  const hsize_t extent = elements;
  const hid_t space = H5Screate_simple(1, &extent, NULL);
  int(*const values)[elements] = malloc(steps * sizeof *values);
  for (int step = 0; step < steps; ++step) {
    char name[32];
    (void)snprintf(name, sizeof name, "step %d", step);
    const hid_t dataset =
        H5Dcreate_async(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT, set);
    CHECK(dataset >= 0);
    fill(values[step], step);
    CHECK(H5Dwrite_async(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values[step], set) >= 0);
    CHECK(H5Dclose_async(dataset, set) >= 0);
    if (step % 5 == 4) {
      CHECK(H5Fflush_async(file, H5F_SCOPE_GLOBAL, set) >= 0);
      wait_for_all(set);
      memset(values, 0xff, steps * sizeof *values);
    }
  }
  CHECK(H5Fclose_async(file, set) >= 0);
  wait_for_all(set);
  memset(values, 0xff, steps * sizeof *values);
  free(values);
  CHECK(H5Sclose(space) >= 0);
  CHECK(H5ESclose(set) >= 0);
}

static void read_series(hid_t access) {
  const hid_t set = H5EScreate();
  const hid_t file = H5Fopen_async(file_name, H5F_ACC_RDWR, access, set);
  CHECK(file >= 0);
  int(*const values)[elements] = calloc(steps, sizeof *values);
  int* const expected = malloc(sizeof *values);
  for (int step = 0; step < steps; ++step) {
    char name[32];
    (void)snprintf(name, sizeof name, "step %d", step);
    const hid_t dataset = H5Dopen_async(file, name, H5P_DEFAULT, set);
    CHECK(dataset >= 0);
    CHECK(H5Dread_async(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values[step], set) >= 0);
    CHECK(H5Dclose_async(dataset, set) >= 0);
  }
  wait_for_all(set);
  for (int step = 0; step < steps; ++step) {
    fill(expected, step);
    CHECK(memcmp(values[step], expected, sizeof *values) == 0);
  }
  /* Written over by asynchronous calls, and read by a plain one at once. */
  const hid_t dataset = H5Dopen2(file, "step 3", H5P_DEFAULT);
  memset(values[0], 0, sizeof *values);
  CHECK(H5Dwrite_async(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values[0], set) >= 0);
  CHECK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values[1]) >= 0);
  CHECK(memcmp(values[0], values[1], sizeof *values) == 0);
  fill(values[1], 3);
  CHECK(H5Dwrite_async(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values[1], set) >= 0);
  CHECK(H5Dclose_async(dataset, set) >= 0);
  /* A wait of no time says how many are left, which may be any number; the next one waits for them. */
  size_t pending = 0;
  hbool_t failed = true;
  CHECK(H5ESwait(set, H5ES_WAIT_NONE, &pending, &failed) >= 0 && !failed);
  CHECK(H5Fclose_async(file, set) >= 0);
  wait_for_all(set);
  CHECK(H5ESclose(set) >= 0);
  free(expected);
  free(values);
}

/* What an event set is told of: the call, and that it failed. Bad arguments fail at once, and never enter the set. */
static void report_bad_calls(hid_t access) {
  const hid_t set = H5EScreate();
  const hid_t file = H5Fopen(file_name, H5F_ACC_RDONLY, access);
  H5E_auto2_t printer = NULL;
  void* printer_data = NULL;
  CHECK(H5Eget_auto2(H5E_DEFAULT, &printer, &printer_data) >= 0 && H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0);
  const hid_t dataset = H5Dopen_async(file, "there is no such thing", H5P_DEFAULT, set);
  size_t pending = 0;
  hbool_t failed = false;
  const herr_t waited = H5ESwait(set, H5ES_WAIT_FOREVER, &pending, &failed);
  CHECK(dataset < 0 || waited < 0 || failed);
  CHECK(H5Eset_auto2(H5E_DEFAULT, printer, printer_data) >= 0);
  CHECK(H5Fclose(file) >= 0);
  CHECK(H5ESclose(set) >= 0);
}

/* The library is shut down by the program while writes are pending, begun again, and shut down by exit. */
static void close_early(void) {
  hid_t access = dovetail_access();
  const hid_t file = H5Fopen(file_name, H5F_ACC_RDWR, access);
  const hsize_t extent = elements;
  const hid_t space = H5Screate_simple(1, &extent, NULL);
  int* const values = calloc(elements, sizeof *values);
  const hid_t dataset = H5Dcreate2(file, "late", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  free(values);
  CHECK(H5close() >= 0);
  CHECK(H5open() >= 0);
  check_natively();
  access = dovetail_access();
  const hid_t again = H5Fopen(file_name, H5F_ACC_RDWR, access);
  CHECK(again >= 0 && H5Lexists(again, "late", H5P_DEFAULT) > 0);
  CHECK(H5Ldelete(again, "late", H5P_DEFAULT) >= 0);
}

int main(void) {
  const hid_t access = dovetail_access();
  for (int turn = 0; turn < 5; ++turn) {
    write_series(access);
    check_natively();
    read_series(access);
    check_natively();
  }
  report_bad_calls(access);
  CHECK(H5Pclose(access) >= 0);
  close_early();
  (void)unlink(file_name);
  return 0;
}
