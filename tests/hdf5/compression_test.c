/* Chunks that tasks compress: who only asks is told in the end, and a write that fails late is told by the next flush. */
#include "checks.h"

#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { chunk = 50000, chunks = 8, elements = chunk * chunks, failing_filter = 300 };

static const char* const file_name = "hdf5_compression_test.h5";

static void fill(int* values) {
  unsigned state = 1;
  for (int element = 0; element < elements; ++element) {
    state = state * 1664525U + 1013904223U;
    values[element] = (int)(state >> 20U);
  }
}

static hid_t create(hid_t file, const char* name, bool spoiled) {
  const hsize_t extent = elements;
  const hsize_t part = chunk;
  const hid_t space = H5Screate_simple(1, &extent, NULL);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  CHECK(H5Pset_chunk(creation, 1, &part) >= 0 && H5Pset_shuffle(creation) >= 0 && H5Pset_deflate(creation, 6) >= 0);
  if (spoiled) CHECK(H5Pset_filter(creation, failing_filter, H5Z_FLAG_MANDATORY, 0, NULL) >= 0);
  const hid_t dataset = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  CHECK(dataset >= 0 && H5Pclose(creation) >= 0 && H5Sclose(space) >= 0);
  return dataset;
}

/* Nobody but tasks compresses meanwhile: a wait of no time does nothing itself. */
static void ask_until_written(hid_t access, const int* values) {
  const hid_t file = H5Fcreate(file_name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  CHECK(file >= 0);
  const hid_t dataset = create(file, "asked for", false);
  const hid_t set = H5EScreate();
  int* const copy = malloc(elements * sizeof *copy);
  memcpy(copy, values, elements * sizeof *copy);
  CHECK(H5Dwrite_async(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, copy, set) >= 0);
  size_t pending = 1;
  while (pending != 0) {
    hbool_t failed = true;
    CHECK(H5ESwait(set, H5ES_WAIT_NONE, &pending, &failed) >= 0 && !failed);
    (void)sched_yield();
  }
  memset(copy, 0xff, elements * sizeof *copy);
  CHECK(H5ESclose(set) >= 0);
  CHECK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, copy) >= 0);
  CHECK(memcmp(copy, values, elements * sizeof *copy) == 0);
  free(copy);
  CHECK(H5Dclose(dataset) >= 0 && H5Fclose(file) >= 0);
}

static size_t fail(unsigned flags, size_t count, const unsigned* values, size_t bytes, size_t* capacity, void** buffer) {
  (void)flags, (void)count, (void)values, (void)bytes, (void)capacity, (void)buffer;
  return 0;
}

static bool told = false;

static herr_t look_for_name(unsigned depth, const H5E_error2_t* error, void* unused) {
  (void)depth, (void)unused;
  if (error->desc != NULL && strstr(error->desc, "H5Dwrite /spoiled in hdf5_compression_test.h5") != NULL) told = true;
  return 0;
}

/* HDF5 filters, and fails, when the call has long returned. */
static void fail_late(hid_t access, int* values) {
  const H5Z_class2_t filter = {H5Z_CLASS_T_VERS, failing_filter, 1, 1, "fails", NULL, NULL, fail};
  CHECK(H5Zregister(&filter) >= 0);
  const hid_t file = H5Fcreate(file_name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  CHECK(file >= 0);
  /* No cache, so that the write itself filters. */
  const hid_t dataset = create(file, "spoiled", true);
  CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  CHECK(H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0);
  CHECK(H5Fflush(file, H5F_SCOPE_GLOBAL) < 0);
  CHECK(H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, look_for_name, NULL) >= 0 && told);
  CHECK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0);
  (void)H5Dclose(dataset);
  CHECK(H5Fclose(file) < 0);
}

int main(void) {
  const hid_t access = dovetail_access();
  int* const values = malloc(elements * sizeof *values);
  fill(values);
  ask_until_written(access, values);

  const hid_t file = H5Fopen(file_name, H5F_ACC_RDONLY, H5P_DEFAULT);
  int* const read = malloc(elements * sizeof *read);
  const hid_t dataset = H5Dopen2(file, "asked for", H5P_DEFAULT);
  CHECK(dataset >= 0 && H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) >= 0);
  CHECK(memcmp(read, values, elements * sizeof *read) == 0);
  CHECK(H5Dclose(dataset) >= 0 && H5Fclose(file) >= 0);
  free(read);

  const hid_t small = H5Pcopy(access);
  CHECK(H5Pset_cache(small, 0, 0, 0, 0) >= 0);
  fail_late(small, values);
  free(values);
  (void)unlink(file_name);
  return 0;
}
