/* What the tests in C share: a check that ends the program and names itself, and whether the connector is there. */
#ifndef DOVETAIL_TESTS_HDF5_CHECKS_H
#define DOVETAIL_TESTS_HDF5_CHECKS_H
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

enum { skipped = 77 };

#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) {                                                             \
      (void)fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      H5Eprint2(H5E_DEFAULT, stderr);                                               \
      exit(1);                                                                      \
    }                                                                               \
  } while (0)

/* A file access list with which files are opened through Dovetail, on the library's default driver. */
static inline hid_t dovetail_access(void) {
  const hid_t connector = H5VLregister_connector_by_name("dovetail", H5P_DEFAULT);
  CHECK(connector >= 0);
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  void* information = NULL;
  CHECK(H5VLconnector_str_to_info("under_vol=0;under_info={}", connector, &information) >= 0);
  CHECK(H5Pset_vol(access, connector, information) >= 0);
  CHECK(H5VLfree_connector_info(connector, information) >= 0);
  CHECK(H5VLclose(connector) >= 0);
  return access;
}
#endif
