/* Chunks that tasks compress. A program that only asks is told in the end, and what HDF5 would refuse is refused in place. Nothing is lost
   when the library ends early. */
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

/* Only tasks compress meanwhile: a wait of no time does nothing itself. */
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

static size_t fail(unsigned flags, size_t count, const unsigned* values, size_t bytes, size_t* capacity,
                   void** buffer) {
  (void)flags, (void)count, (void)values, (void)bytes, (void)capacity, (void)buffer;
  return 0;
}

/* A filter of the program behind deflate may fail: the write has to tell. */
static void fail_in_place(hid_t access, const int* values) {
  const H5Z_class2_t filter = {H5Z_CLASS_T_VERS, failing_filter, 1, 1, "fails", NULL, NULL, fail};
  CHECK(H5Zregister(&filter) >= 0);
  const hid_t uncached = H5Pcopy(access);
  CHECK(H5Pset_cache(uncached, 0, 0, 0, 0) >= 0);
  const hid_t file = H5Fcreate(file_name, H5F_ACC_TRUNC, H5P_DEFAULT, uncached);
  CHECK(file >= 0 && H5Pclose(uncached) >= 0);
  const hid_t good = create(file, "good", false);
  const hid_t spoiled = create(file, "spoiled", true);
  CHECK(H5Dwrite(good, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  H5E_auto2_t printer = NULL;
  void* of_printer = NULL;
  CHECK(H5Eget_auto2(H5E_DEFAULT, &printer, &of_printer) >= 0 && H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0);
  CHECK(H5Dwrite(spoiled, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0);
  CHECK(H5Eset_auto2(H5E_DEFAULT, printer, of_printer) >= 0);
  CHECK(H5Dclose(spoiled) >= 0 && H5Dclose(good) >= 0 && H5Fclose(file) >= 0);
}

/* The first element in memory is where the offset says, also for a selection of all. */
static void write_from_offset(hid_t access, const int* values) {
  enum { offset = 9 };
  const hid_t file = H5Fcreate(file_name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const hid_t dataset = create(file, "moved", false);
  const hid_t memory = H5Dget_space(dataset);
  const hssize_t first = offset;
  int* const moved = malloc((elements + offset) * sizeof *moved);
  memcpy(moved + offset, values, elements * sizeof *moved);
  CHECK(H5Soffset_simple(memory, &first) >= 0);
  CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, memory, H5S_ALL, H5P_DEFAULT, moved) >= 0);
  CHECK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, moved) >= 0);
  CHECK(memcmp(moved, values, elements * sizeof *moved) == 0);
  free(moved);
  CHECK(H5Sclose(memory) >= 0 && H5Dclose(dataset) >= 0 && H5Fclose(file) >= 0);
}

/* All identifiers are open, and chunks are still to be compressed. */
static void end_early(hid_t access, const int* values) {
  const hid_t file = H5Fcreate(file_name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  for (int number = 0; number < 3; ++number) {
    char name[32];
    (void)snprintf(name, sizeof name, "left open %d", number);
    const hid_t dataset = create(file, name, false);
    CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  }
  CHECK(H5close() >= 0);
}

static void check_natively(const char* name, const int* values) {
  const hid_t file = H5Fopen(file_name, H5F_ACC_RDONLY, H5P_DEFAULT);
  int* const read = malloc(elements * sizeof *read);
  const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
  CHECK(dataset >= 0 && H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) >= 0);
  CHECK(memcmp(read, values, elements * sizeof *read) == 0);
  CHECK(H5Dclose(dataset) >= 0 && H5Fclose(file) >= 0);
  free(read);
}

int main(void) {
  int* const values = malloc(elements * sizeof *values);
  fill(values);
  const hid_t access = dovetail_access();
  ask_until_written(access, values);
  check_natively("asked for", values);
  fail_in_place(access, values);
  check_natively("good", values);
  write_from_offset(access, values);
  check_natively("moved", values);
  end_early(access, values);
  check_natively("left open 0", values);
  check_natively("left open 2", values);
  free(values);
  (void)unlink(file_name);
  return 0;
}
