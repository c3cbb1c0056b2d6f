/// @file
/// How the inline functions of <dovetail/dovetail_mpi.h> tell the library what an operation is. Not part of the public contract.
#ifndef DOVETAIL_DETAIL_MPI_DESCRIBE_H
#define DOVETAIL_DETAIL_MPI_DESCRIBE_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "dovetail/detail/mpi_functions.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The binary interface of this `mpi.h`.
enum {
#ifdef OPEN_MPI
  DOVETAIL_MPI_ABI = 2  ///< That of Open MPI.
#else
  DOVETAIL_MPI_ABI = 1  ///< That of MPICH.
#endif
};

static inline dovetail_mpi_operation dovetail_mpi_describe(const char* call, const MPI_Comm* communicator) {
  dovetail_mpi_operation made;
  made.call = call;
  made.communicator = communicator;
  made.communicator_size = communicator != NULL ? sizeof *communicator : 0;
  made.peer = -1;
  made.tag = -1;
  made.receives = 0;
  made.type = NULL;
  made.type_size = 0;
  made.count = 0;
  return made;
}
static inline int32_t dovetail_mpi_collective(const char* call, int (*start)(const void*, void*), const void* given,
                                              size_t size, const MPI_Comm* communicator, int suspends) {
  const dovetail_mpi_operation made = dovetail_mpi_describe(call, communicator);
  return dovetail_mpi_begin(DOVETAIL_MPI_ABI, &made, start, given, size, NULL, suspends);
}

#ifdef __cplusplus
}
#endif

#endif
