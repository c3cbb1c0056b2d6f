/* The functions of <dovetail/hdf5.h>: which moment each of them tells. */
#include "checks.h"

#include <dovetail/hdf5.h>

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum { elements = 200000 };

static const char* const file_name = "hdf5_functions_test.h5";

static void check_natively(const int* expected) {
  const hid_t file = H5Fopen(file_name, H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, "values", H5P_DEFAULT);
  CHECK(dataset >= 0);
  int* const read = malloc(elements * sizeof *read);
  CHECK(H5Dread(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) >= 0);
  CHECK(memcmp(read, expected, elements * sizeof *read) == 0);
  free(read);
  CHECK(H5Dclose(dataset) >= 0 && H5Fclose(file) >= 0);
}

int main(void) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  CHECK(dovetail_H5Pset_vol_async(access) == 0);
  const hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
  CHECK(dovetail_H5Pset_dxpl_async_cp_limit(transfer, 1000) == 0);

  const hid_t file = H5Fcreate(file_name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
  CHECK(file >= 0);
  const hsize_t extent = elements;
  const hid_t space = H5Screate_simple(1, &extent, NULL);
  const hid_t dataset = H5Dcreate2(file, "values", H5T_NATIVE_INT, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  CHECK(dataset >= 0);
  int* const values = malloc(elements * sizeof *values);
  int completed = -1;
  int reusable = -1;
  int durable = -1;
  for (int turn = 0; turn < 20; ++turn) {
    for (int element = 0; element < elements; ++element) values[element] = turn * elements + element;
    CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, transfer, values) >= 0);
    CHECK(dovetail_H5Dtest(dataset, &completed) == 0 && (completed == 0 || completed == 1));
    CHECK(dovetail_H5Fstate(file, &reusable, &durable) == 0 && durable == 0);
    /* Either way may wait; after both the memory is the program's again. */
    CHECK((turn % 2 == 0 ? dovetail_H5Dwait(dataset) : dovetail_H5Fwait(file)) == 0);
    CHECK(dovetail_H5Dtest(dataset, &completed) == 0 && completed == 1);
    CHECK(dovetail_H5Ftest(file, &completed) == 0 && completed == 1);
    CHECK(dovetail_H5Fstate(file, &reusable, NULL) == 0 && reusable == 1);
  }
  CHECK(dovetail_H5Fset_flush_background(file, 1) == 0);
  CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, transfer, values) >= 0);
  CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0);
  CHECK(dovetail_H5Fset_flush_background(file, 0) == 0);
  CHECK(H5Dwrite(dataset, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, transfer, values) >= 0);
  CHECK(H5Fflush(file, H5F_SCOPE_LOCAL) >= 0);
  CHECK(dovetail_H5Ftest(file, &completed) == 0 && completed == 1);
  CHECK(dovetail_H5Fsync(file) == 0);
  CHECK(dovetail_H5Fstate(file, NULL, &durable) == 0 && durable == 1);

  H5E_auto2_t printer = NULL;
  void* printer_data = NULL;
  CHECK(H5Eget_auto2(H5E_DEFAULT, &printer, &printer_data) >= 0 && H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0);
  CHECK(dovetail_H5Fwait(space) == -1 && dovetail_H5Dwait(H5I_INVALID_HID) == -1);
  CHECK(dovetail_H5Pset_vol_async(space) == -1);
  CHECK(H5Eset_auto2(H5E_DEFAULT, printer, printer_data) >= 0);

  CHECK(H5Dclose(dataset) >= 0 && H5Sclose(space) >= 0 && H5Fclose(file) >= 0);
  check_natively(values);
  free(values);
  CHECK(H5Pclose(transfer) >= 0 && H5Pclose(access) >= 0);
  (void)unlink(file_name);
  return 0;
}
