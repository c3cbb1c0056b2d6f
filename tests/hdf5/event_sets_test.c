/* The explicit way: event sets and the asynchronous calls, compared with what the file holds natively afterwards. */
#include "checks.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

enum { steps = 12, elements = 30000 };

static const char* const file_name = "hdf5_event_sets_test.h5";
static const char* const spoiled_name = "hdf5_event_sets_test_spoiled.h5";

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

/* HDF5 computes with what an asynchronous read brings before the call returns. */
static void read_and_compute(hid_t access) {
  const hid_t set = H5EScreate();
  const hid_t file = H5Fopen(file_name, H5F_ACC_RDONLY, access);
  const hid_t dataset = H5Dopen2(file, "step 5", H5P_DEFAULT);
  CHECK(dataset >= 0);
  const hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
  CHECK(H5Pset_data_transform(transfer, "x + 7") >= 0);
  int* const values = calloc(elements, sizeof *values);
  int* const expected = malloc(elements * sizeof *expected);
  fill(expected, 5);
  for (int turn = 0; turn < 20; ++turn) {
    memset(values, 0, elements * sizeof *values);
    CHECK(H5Pset_selection_io(transfer, turn % 2 == 0 ? H5D_SELECTION_IO_MODE_ON : H5D_SELECTION_IO_MODE_OFF) >= 0);
    CHECK(H5Dread_async(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, transfer, values, set) >= 0);
    wait_for_all(set);
    for (int element = 0; element < elements; ++element) CHECK(values[element] == expected[element] + 7);
  }
  free(expected);
  free(values);
  CHECK(H5Pclose(transfer) >= 0 && H5Dclose(dataset) >= 0 && H5Fclose(file) >= 0 && H5ESclose(set) >= 0);
}

/* A call that has begun to read, and fails then: there is no request, and nothing is left behind. */
static void fail_in_the_middle(hid_t access) {
  const hsize_t extent = elements;
  hid_t file = H5Fcreate(spoiled_name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const hid_t space = H5Screate_simple(1, &extent, NULL);
  const hid_t checked = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_chunk(checked, 1, &extent) >= 0 && H5Pset_fletcher32(checked) >= 0);
  int* const values = malloc(elements * sizeof *values);
  fill(values, 1);
  hid_t datasets[2] = {H5Dcreate2(file, "plain", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                       H5Dcreate2(file, "checked", H5T_NATIVE_INT, space, H5P_DEFAULT, checked, H5P_DEFAULT)};
  for (int i = 0; i < 2; ++i) {
    CHECK(H5Dwrite(datasets[i], H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  }
  haddr_t address = HADDR_UNDEF;
  CHECK(H5Dget_chunk_info_by_coord(datasets[1], (hsize_t[]){0}, NULL, &address, NULL) >= 0);
  CHECK(H5Dclose(datasets[0]) >= 0 && H5Dclose(datasets[1]) >= 0 && H5Fclose(file) >= 0);
  FILE* const spoiled = fopen(spoiled_name, "r+b");
  CHECK(spoiled != NULL && fseek(spoiled, (long)address, SEEK_SET) == 0);
  CHECK(fputc(0x55, spoiled) != EOF && fclose(spoiled) == 0);

  const hid_t native = H5VLget_connector_id_by_name("native");
  file = H5Fopen(spoiled_name, H5F_ACC_RDONLY, access);
  datasets[0] = H5Dopen2(file, "plain", H5P_DEFAULT);
  datasets[1] = H5Dopen2(file, "checked", H5P_DEFAULT);
  CHECK(datasets[0] >= 0 && datasets[1] >= 0);
  const int references = H5Iget_ref(native);
  H5E_auto2_t printer = NULL;
  void* printer_data = NULL;
  CHECK(H5Eget_auto2(H5E_DEFAULT, &printer, &printer_data) >= 0 && H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0);
  const hid_t set = H5EScreate();
  hid_t types[2] = {H5T_NATIVE_INT, H5T_NATIVE_INT};
  hid_t spaces[2] = {H5S_ALL, H5S_ALL};
  int* const second = malloc(elements * sizeof *second);
  void* buffers[2] = {values, second};
  CHECK(H5Dread_multi_async(2, datasets, types, spaces, spaces, H5P_DEFAULT, buffers, set) < 0);
  size_t pending = 1;
  CHECK(H5ESget_count(set, &pending) >= 0 && pending == 0);
  CHECK(H5Eset_auto2(H5E_DEFAULT, printer, printer_data) >= 0);
  CHECK(H5Iget_ref(native) == references);
  /* HDF5 has read the first of them before it came to the second. A caller without a request may use the memory now. */
  memset(values, 0, elements * sizeof *values);
  CHECK(H5Dclose(datasets[0]) >= 0 && H5Dclose(datasets[1]) >= 0 && H5Fclose(file) >= 0);
  for (int element = 0; element < elements; ++element) CHECK(values[element] == 0);
  (void)unlink(spoiled_name);
  free(second);
  free(values);
  CHECK(H5Pclose(checked) >= 0 && H5Sclose(space) >= 0 && H5ESclose(set) >= 0 && H5VLclose(native) >= 0);
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

/* On a device that fails from 1 MiB on: each set is told of its own call. */
static void fail_to_write(const char* path) {
  const hid_t access = dovetail_access();
  const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  CHECK(file >= 0);
  const hsize_t extents[2] = {elements, 20 * elements};
  const char* const names[2] = {"good", "bad"};
  int* const values = calloc(20 * (size_t)elements, sizeof *values);
  hid_t datasets[2];
  hid_t sets[2];
  for (int i = 0; i < 2; ++i) {
    const hid_t space = H5Screate_simple(1, &extents[i], NULL);
    datasets[i] = H5Dcreate2(file, names[i], H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    sets[i] = H5EScreate();
    CHECK(datasets[i] >= 0 && sets[i] >= 0 && H5Sclose(space) >= 0);
  }
  for (int i = 0; i < 2; ++i) {
    CHECK(H5Dwrite_async(datasets[i], H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values, sets[i]) >= 0);
  }
  size_t pending = 1;
  hbool_t failed = false;
  CHECK(H5ESwait(sets[1], H5ES_WAIT_FOREVER, &pending, &failed) >= 0 && failed);
  H5ES_err_info_t about;
  size_t cleared = 0;
  CHECK(H5ESget_err_info(sets[1], 1, &about, &cleared) >= 0 && cleared == 1);
  (void)fprintf(stderr, "%s failed:\n", about.api_name);
  CHECK(H5Eprint2(about.err_stack_id, stderr) >= 0 && H5Eclose_stack(about.err_stack_id) >= 0);
  CHECK(H5free_memory(about.api_name) >= 0 && H5free_memory(about.api_args) >= 0);
  CHECK(H5free_memory(about.app_file_name) >= 0 && H5free_memory(about.app_func_name) >= 0);
  wait_for_all(sets[0]);
  CHECK(H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0);
  CHECK(H5Dclose(datasets[0]) >= 0 && H5Dclose(datasets[1]) >= 0 && H5Fclose(file) < 0);
  CHECK(H5ESclose(sets[0]) >= 0 && H5ESclose(sets[1]) >= 0 && H5Pclose(access) >= 0);
  free(values);
}

int main(int count, char* arguments[]) {
  if (count > 1) {
    fail_to_write(arguments[1]);
    return 0;
  }
  const hid_t access = dovetail_access();
  for (int turn = 0; turn < 5; ++turn) {
    write_series(access);
    check_natively();
    read_series(access);
    check_natively();
  }
  report_bad_calls(access);
  read_and_compute(access);
  fail_in_the_middle(access);
  CHECK(H5Pclose(access) >= 0);
  close_early();
  (void)unlink(file_name);
  return 0;
}
