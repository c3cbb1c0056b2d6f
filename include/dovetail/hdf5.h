/// @file
/// Asynchronous HDF5 from code. Nothing here is needed for programs that run under the connector by way of the environment
/// (docs/hdf5.md). Link with `-ldovetail-hdf5` besides your HDF5 1.14.5 or newer; the identifiers are those of HDF5, whose header this
/// one does not need. Functions return 0, or -1 with the reason on HDF5's stack of errors. They may be called where functions of
/// HDF5 may be called: from one thread at a time unless the library is thread-safe.
#ifndef DOVETAIL_HDF5_H
#define DOVETAIL_HDF5_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// An identifier of HDF5, `hid_t` there.
typedef int64_t dovetail_hid_t;

/// Files created and opened with this list of file access properties use the connector. HDF5 must find the plugin: set
/// `HDF5_PLUGIN_PATH`, or call `H5PLappend`.
int dovetail_H5Pset_vol_async(dovetail_hid_t file_access);
/// Writes of more than `bytes` with this list of transfer properties are not copied where HDF5 gives their bytes to the file as they are.
/// The caller leaves the memory alone until `dovetail_H5Dwait` or `dovetail_H5Fwait` has returned, the file is closed, or
/// `dovetail_H5Fstate` says so. 0: no write is copied.
int dovetail_H5Pset_dxpl_async_cp_limit(dovetail_hid_t transfer, uint64_t bytes);
/// Sets `*completed` to 1 if all writes so far to the file of this dataset have reached it and every asynchronous read has ended. Else sets
/// it to 0. Never waits.
int dovetail_H5Dtest(dovetail_hid_t dataset, int* completed);
/// Waits until that is so. Fails with the first failure of a write to the file.
int dovetail_H5Dwait(dovetail_hid_t dataset);
/// As `dovetail_H5Dtest`, of a file.
int dovetail_H5Ftest(dovetail_hid_t file, int* completed);
/// As `dovetail_H5Dwait`, of a file.
int dovetail_H5Fwait(dovetail_hid_t file);
/// Tells two moments of the writes so far apart. `*reusable`: 1 if none of them needs memory of the program any more. `*durable`:
/// 1 if all of them have been made to last by `dovetail_H5Fsync`. Either pointer may be null. Never waits.
int dovetail_H5Fstate(dovetail_hid_t file, int* reusable, int* durable);
/// Whether `H5Fflush` of this file returns at once (`background` is not 0) or when every other process sees what was written (0,
/// the default). It holds for as long as the file is open; docs/hdf5.md says what a flush in the background promises.
int dovetail_H5Fset_flush_background(dovetail_hid_t file, int background);
/// Waits for all writes so far, then makes them last (`fdatasync`). What HDF5 itself still holds is not among them: call `H5Fflush`
/// before.
int dovetail_H5Fsync(dovetail_hid_t file);

#ifdef __cplusplus
}
#endif

#endif
