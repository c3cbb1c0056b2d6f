/* Threads of one program on a thread-safe HDF5: files of their own, and one that all share. */
#include "checks.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { threads = 4, elements = 5000 };

static hid_t shared_file;
static hid_t access_list;
static int steps = 40;

static void write_step(hid_t file, const char* name, int first) {
  const hsize_t extent = elements;
  const hid_t space = H5Screate_simple(1, &extent, NULL);
  /* Every other one is compressed. */
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  const hsize_t chunk = elements / 2;
  if (first % 2 == 0) CHECK(H5Pset_chunk(creation, 1, &chunk) >= 0 && H5Pset_deflate(creation, 1) >= 0);
  const hid_t dataset = H5Dcreate2(file, name, H5T_NATIVE_INT, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  CHECK(dataset >= 0);
  int values[elements];
  int read[elements];
  for (int element = 0; element < elements; ++element) values[element] = first + element;
  CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
  CHECK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) >= 0);
  CHECK(memcmp(values, read, sizeof values) == 0);
  CHECK(H5Dclose(dataset) >= 0 && H5Sclose(space) >= 0 && H5Pclose(creation) >= 0);
}

static void check_step(hid_t file, const char* name, int first) {
  const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
  CHECK(dataset >= 0);
  int read[elements];
  CHECK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) >= 0);
  for (int element = 0; element < elements; ++element) CHECK(read[element] == first + element);
  CHECK(H5Dclose(dataset) >= 0);
}

static void* work(void* argument) {
  const int number = *(const int*)argument;
  char own[64];
  (void)snprintf(own, sizeof own, "hdf5_threads_test_%d.h5", number);
  for (int step = 0; step < steps; ++step) {
    char name[64];
    (void)snprintf(name, sizeof name, "thread %d step %d", number, step);
    write_step(shared_file, name, number * 100000 + step);
    const hid_t file = H5Fcreate(own, H5F_ACC_TRUNC, H5P_DEFAULT, access_list);
    CHECK(file >= 0);
    write_step(file, "only", step);
    CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0);
    CHECK(H5Fclose(file) >= 0);
  }
  const hid_t file = H5Fopen(own, H5F_ACC_RDONLY, access_list);
  check_step(file, "only", steps - 1);
  CHECK(H5Fclose(file) >= 0);
  (void)unlink(own);
  return NULL;
}

int main(void) {
  static const char* const name = "hdf5_threads_test.h5";
  const char* const scale = getenv("DOVETAIL_TEST_SCALE");
  if (scale != NULL && strcmp(scale, "small") == 0) steps = 10;
  access_list = dovetail_access();
  shared_file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access_list);
  CHECK(shared_file >= 0);
  pthread_t handles[threads];
  int numbers[threads];
  for (int number = 0; number < threads; ++number) {
    numbers[number] = number;
    CHECK(pthread_create(&handles[number], NULL, work, &numbers[number]) == 0);
  }
  for (int number = 0; number < threads; ++number) CHECK(pthread_join(handles[number], NULL) == 0);
  CHECK(H5Fclose(shared_file) >= 0);

  shared_file = H5Fopen(name, H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(shared_file >= 0);
  for (int number = 0; number < threads; ++number) {
    for (int step = 0; step < steps; ++step) {
      char dataset[64];
      (void)snprintf(dataset, sizeof dataset, "thread %d step %d", number, step);
      check_step(shared_file, dataset, number * 100000 + step);
    }
  }
  CHECK(H5Fclose(shared_file) >= 0);
  CHECK(H5Pclose(access_list) >= 0);
  (void)unlink(name);
  return 0;
}
