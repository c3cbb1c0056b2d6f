/// @file
/// Messages of MPI that belong to OpenMP tasks: as the storage I/O of dovetail_omp.h, whose rules hold here. A task with a `detach` clause starts
/// messages, hands their requests over and ends its body. When they have ended, OpenMP takes the task for completed.
///
///     #pragma omp task depend(out: halo[0]) detach(event)
///     {
///       MPI_Request request;
///       MPI_Irecv(halo, n, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &request);
///       dovetail_omp_task* io = dovetail_omp_begin(event);
///       dovetail_omp_mpi_iwait(io, &request, MPI_STATUS_IGNORE);
///       dovetail_omp_end(io);
///     }
///
/// This header includes the program's `mpi.h`. The program links MPI itself, besides `-ldovetail-omp`, and calls `MPI_Init_thread` with
/// `MPI_THREAD_MULTIPLE`: the hidden thread of Dovetail asks MPI what has ended. It ends MPI when all such tasks have completed.
///
/// Errors. A message that fails is an error without a location: -EIO, whose operation says what MPI says.
#ifndef DOVETAIL_OMP_MPI_H
#define DOVETAIL_OMP_MPI_H

#include <mpi.h>

#include "dovetail_omp.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The task completes no earlier than these requests have ended. They are taken over and become `MPI_REQUEST_NULL` at once; not for persistent
/// ones.
/// @param io Of `dovetail_omp_begin`; before `dovetail_omp_end`, or while an event that was added is outstanding.
/// @param count How many there are.
/// @param requests Of messages, collectives or whatever else has one.
/// @param statuses As many, which live until the task has completed; or `MPI_STATUSES_IGNORE`.
static inline void dovetail_omp_mpi_iwaitall(dovetail_omp_task* io, size_t count, MPI_Request* requests,
                                             MPI_Status* statuses) {
#ifdef OPEN_MPI
  const int abi = 2;
#else
  const int abi = 1;
#endif
  dovetail_omp_mpi_requests(io, abi, requests, sizeof *requests, count,
                            statuses == MPI_STATUSES_IGNORE ? NULL : statuses);
  for (size_t i = 0; i < count; ++i) {
    requests[i] = MPI_REQUEST_NULL;
  }
}
/// The same for one request. `status` may be `MPI_STATUS_IGNORE`.
static inline void dovetail_omp_mpi_iwait(dovetail_omp_task* io, MPI_Request* request, MPI_Status* status) {
  dovetail_omp_mpi_iwaitall(io, 1, request, status == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : status);
}

#ifdef __cplusplus
}
#endif

#endif
