/// @file
/// Messages of MPI as parts of tasks, in C. In C++ use <dovetail/mpi.hpp>, of which this is a translation: what is said there holds here. What
/// dovetail.h says at its top about results, contexts and suspending holds here as well.
///
/// This header includes the program's `mpi.h`, and dovetail.h does not include this one. The program links MPI itself and calls
/// `MPI_Init_thread` with `MPI_THREAD_MULTIPLE`. Buffers, requests and statuses live until the operation has ended. A status may be
/// `MPI_STATUS_IGNORE`, an array of them `MPI_STATUSES_IGNORE`.
///
/// Errors. A function returns 0 or a negative errno: -EIO if MPI refuses or the operation fails, with MPI's own code in
/// `dovetail_error_mpi_code`; -EPERM where it must not be called, or if MPI was initialised for fewer threads; -ENOMEM. A bound operation that
/// fails later fails its task in the same way.
#ifndef DOVETAIL_MPI_H
#define DOVETAIL_MPI_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#include "dovetail/detail/mpi_functions.h"

#ifdef __cplusplus
extern "C" {
#endif

/// @name What the functions below are made of
/// Not for programs.
/// @{

/// The binary interface of this `mpi.h`.
enum {
#ifdef OPEN_MPI
  DOVETAIL_MPI_ABI = 2  ///< That of Open MPI.
#else
  DOVETAIL_MPI_ABI = 1  ///< That of MPICH.
#endif
};

/// The arguments of an operation, as far as it has them.
typedef struct dovetail_mpi_arguments {
  const void* sent;       ///< Buffer that is sent.
  void* received;         ///< Buffer that is received in.
  int count;              ///< Elements.
  int rank;               ///< Of the other side, or of the root.
  int tag;                ///< Of the message.
  MPI_Datatype type;      ///< Of the elements.
  MPI_Op operation;       ///< That reduces.
  MPI_Comm communicator;  ///< Of all.
} dovetail_mpi_arguments;

static inline dovetail_mpi_operation dovetail_mpi_describe(const char* call, const MPI_Comm* communicator) {
  dovetail_mpi_operation made;
  made.call = call;
  made.communicator = communicator;
  made.communicator_size = communicator != NULL ? sizeof *communicator : 0;
  made.peer = -1;
  made.tag = -1;
  made.receives = 0;
  return made;
}
static inline int32_t dovetail_mpi_message(const char* call, int receives, int (*start)(const void*, void*),
                                           const dovetail_mpi_arguments* given, MPI_Status* status, int suspends) {
  dovetail_mpi_operation made = dovetail_mpi_describe(call, &given->communicator);
  made.peer = given->rank == MPI_PROC_NULL ? -1 : given->rank;
  made.tag = given->tag;
  made.receives = receives;
  if (receives) {
    made.peer = given->rank == MPI_ANY_SOURCE ? -2 : made.peer;
    made.tag = given->tag == MPI_ANY_TAG ? -2 : made.tag;
  }
  return dovetail_mpi_begin(DOVETAIL_MPI_ABI, &made, start, given, sizeof *given,
                            status == MPI_STATUS_IGNORE ? NULL : status, suspends);
}
static inline int32_t dovetail_mpi_collective(const char* call, int (*start)(const void*, void*),
                                              const dovetail_mpi_arguments* given, int suspends) {
  const dovetail_mpi_operation made = dovetail_mpi_describe(call, &given->communicator);
  return dovetail_mpi_begin(DOVETAIL_MPI_ABI, &made, start, given, sizeof *given, NULL, suspends);
}
static inline dovetail_mpi_arguments dovetail_mpi_given(const void* sent, void* received, int count, MPI_Datatype type,
                                                        int rank, int tag, MPI_Comm communicator) {
  dovetail_mpi_arguments given;
  given.sent = sent;
  given.received = received;
  given.count = count;
  given.rank = rank;
  given.tag = tag;
  given.type = type;
  given.operation = MPI_OP_NULL;
  given.communicator = communicator;
  return given;
}
static inline int dovetail_mpi_begin_isend(const void* given, void* request) {
  const dovetail_mpi_arguments* with = (const dovetail_mpi_arguments*)given;
  return MPI_Isend(with->sent, with->count, with->type, with->rank, with->tag, with->communicator,
                   (MPI_Request*)request);
}
static inline int dovetail_mpi_begin_issend(const void* given, void* request) {
  const dovetail_mpi_arguments* with = (const dovetail_mpi_arguments*)given;
  return MPI_Issend(with->sent, with->count, with->type, with->rank, with->tag, with->communicator,
                    (MPI_Request*)request);
}
static inline int dovetail_mpi_begin_irecv(const void* given, void* request) {
  const dovetail_mpi_arguments* with = (const dovetail_mpi_arguments*)given;
  return MPI_Irecv(with->received, with->count, with->type, with->rank, with->tag, with->communicator,
                   (MPI_Request*)request);
}
static inline int dovetail_mpi_begin_ibarrier(const void* given, void* request) {
  return MPI_Ibarrier(((const dovetail_mpi_arguments*)given)->communicator, (MPI_Request*)request);
}
static inline int dovetail_mpi_begin_ibcast(const void* given, void* request) {
  const dovetail_mpi_arguments* with = (const dovetail_mpi_arguments*)given;
  return MPI_Ibcast(with->received, with->count, with->type, with->rank, with->communicator, (MPI_Request*)request);
}
static inline int dovetail_mpi_begin_ireduce(const void* given, void* request) {
  const dovetail_mpi_arguments* with = (const dovetail_mpi_arguments*)given;
  return MPI_Ireduce(with->sent, with->received, with->count, with->type, with->operation, with->rank,
                     with->communicator, (MPI_Request*)request);
}
static inline int dovetail_mpi_begin_iallreduce(const void* given, void* request) {
  const dovetail_mpi_arguments* with = (const dovetail_mpi_arguments*)given;
  return MPI_Iallreduce(with->sent, with->received, with->count, with->type, with->operation, with->communicator,
                        (MPI_Request*)request);
}
static inline int dovetail_mpi_begin_start(const void* given, void* request) {
  *(MPI_Request*)request = *(const MPI_Request*)given;
  return MPI_Start((MPI_Request*)request);
}
/// The arguments of a wait for the first of several requests.
typedef struct dovetail_mpi_several {
  MPI_Request* requests;  ///< All of them.
  int count;              ///< How many they are.
  int* place;             ///< Where the number of the first goes.
  MPI_Status* status;     ///< Where its status goes.
} dovetail_mpi_several;
static inline int dovetail_mpi_test_several(void* given, int* flag) {
  const dovetail_mpi_several* with = (const dovetail_mpi_several*)given;
  return MPI_Testany(with->count, with->requests, with->place, flag, with->status);
}
static inline int dovetail_mpi_wait_for_several(void* given) {
  const dovetail_mpi_several* with = (const dovetail_mpi_several*)given;
  return MPI_Waitany(with->count, with->requests, with->place, with->status);
}
/// @}

/// @name Requests that the program has started
/// The `i` forms bind the end of the requests to the current task and do not suspend. Context: task, and in `onready`. The others suspend;
/// outside of a task they block. Requests are taken over and become `MPI_REQUEST_NULL` at once; persistent ones have a call of their own
/// below. `dovetail_mpi_waitany` does as `MPI_Waitany`.
/// @{
static inline int32_t dovetail_mpi_iwaitall(size_t count, MPI_Request* requests, MPI_Status* statuses) {
  return dovetail_mpi_requests(DOVETAIL_MPI_ABI, requests, count, statuses == MPI_STATUSES_IGNORE ? NULL : statuses, 0);
}
static inline int32_t dovetail_mpi_waitall(size_t count, MPI_Request* requests, MPI_Status* statuses) {
  return dovetail_mpi_requests(DOVETAIL_MPI_ABI, requests, count, statuses == MPI_STATUSES_IGNORE ? NULL : statuses, 1);
}
static inline int32_t dovetail_mpi_iwait(MPI_Request* request, MPI_Status* status) {
  return dovetail_mpi_requests(DOVETAIL_MPI_ABI, request, 1, status == MPI_STATUS_IGNORE ? NULL : status, 0);
}
static inline int32_t dovetail_mpi_wait(MPI_Request* request, MPI_Status* status) {
  return dovetail_mpi_requests(DOVETAIL_MPI_ABI, request, 1, status == MPI_STATUS_IGNORE ? NULL : status, 1);
}
static inline int32_t dovetail_mpi_waitany(int count, MPI_Request* requests, int* place, MPI_Status* status) {
  const dovetail_mpi_operation made = dovetail_mpi_describe("MPI_Waitany", NULL);
  dovetail_mpi_several given;
  given.requests = requests;
  given.count = count;
  given.place = place;
  given.status = status;
  return dovetail_mpi_attempt(DOVETAIL_MPI_ABI, &made, dovetail_mpi_test_several, dovetail_mpi_wait_for_several,
                              &given);
}
/// @}

/// @name Persistent requests
/// @{

/// Starts the request and binds its end to the current task. It stays the program's, and can be started again when the task has completed.
/// Does not suspend. Context: task, and in `onready`.
static inline int32_t dovetail_mpi_start(MPI_Request request, MPI_Status* status) {
  const dovetail_mpi_operation made = dovetail_mpi_describe("MPI_Start", NULL);
  return dovetail_mpi_begin(DOVETAIL_MPI_ABI, &made, dovetail_mpi_begin_start, &request, sizeof request,
                            status == MPI_STATUS_IGNORE ? NULL : status, 0);
}
/// @}

/// @name Messages and collectives
/// The `i` forms are bound to the current task and do not suspend. Context: task, and in `onready`. The others suspend; outside of a task they
/// block. For any other operation that has a request, start it and call `dovetail_mpi_iwait`. All ranks of a communicator make its
/// collectives in these forms: MPI does not match them with its blocking ones.
/// @{
static inline int32_t dovetail_mpi_isend(const void* data, int count, MPI_Datatype type, int rank, int tag,
                                         MPI_Comm communicator) {
  const dovetail_mpi_arguments given = dovetail_mpi_given(data, NULL, count, type, rank, tag, communicator);
  return dovetail_mpi_message("MPI_Isend", 0, dovetail_mpi_begin_isend, &given, MPI_STATUS_IGNORE, 0);
}
static inline int32_t dovetail_mpi_issend(const void* data, int count, MPI_Datatype type, int rank, int tag,
                                          MPI_Comm communicator) {
  const dovetail_mpi_arguments given = dovetail_mpi_given(data, NULL, count, type, rank, tag, communicator);
  return dovetail_mpi_message("MPI_Issend", 0, dovetail_mpi_begin_issend, &given, MPI_STATUS_IGNORE, 0);
}
static inline int32_t dovetail_mpi_irecv(void* data, int count, MPI_Datatype type, int rank, int tag,
                                         MPI_Comm communicator, MPI_Status* status) {
  const dovetail_mpi_arguments given = dovetail_mpi_given(NULL, data, count, type, rank, tag, communicator);
  return dovetail_mpi_message("MPI_Irecv", 1, dovetail_mpi_begin_irecv, &given, status, 0);
}
static inline int32_t dovetail_mpi_send(const void* data, int count, MPI_Datatype type, int rank, int tag,
                                        MPI_Comm communicator) {
  const dovetail_mpi_arguments given = dovetail_mpi_given(data, NULL, count, type, rank, tag, communicator);
  return dovetail_mpi_message("MPI_Send", 0, dovetail_mpi_begin_isend, &given, MPI_STATUS_IGNORE, 1);
}
static inline int32_t dovetail_mpi_ssend(const void* data, int count, MPI_Datatype type, int rank, int tag,
                                         MPI_Comm communicator) {
  const dovetail_mpi_arguments given = dovetail_mpi_given(data, NULL, count, type, rank, tag, communicator);
  return dovetail_mpi_message("MPI_Ssend", 0, dovetail_mpi_begin_issend, &given, MPI_STATUS_IGNORE, 1);
}
static inline int32_t dovetail_mpi_recv(void* data, int count, MPI_Datatype type, int rank, int tag,
                                        MPI_Comm communicator, MPI_Status* status) {
  const dovetail_mpi_arguments given = dovetail_mpi_given(NULL, data, count, type, rank, tag, communicator);
  return dovetail_mpi_message("MPI_Recv", 1, dovetail_mpi_begin_irecv, &given, status, 1);
}
static inline int32_t dovetail_mpi_ibarrier(MPI_Comm communicator) {
  const dovetail_mpi_arguments given = dovetail_mpi_given(NULL, NULL, 0, MPI_BYTE, 0, 0, communicator);
  return dovetail_mpi_collective("MPI_Ibarrier", dovetail_mpi_begin_ibarrier, &given, 0);
}
static inline int32_t dovetail_mpi_barrier(MPI_Comm communicator) {
  const dovetail_mpi_arguments given = dovetail_mpi_given(NULL, NULL, 0, MPI_BYTE, 0, 0, communicator);
  return dovetail_mpi_collective("MPI_Barrier", dovetail_mpi_begin_ibarrier, &given, 1);
}
static inline int32_t dovetail_mpi_ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm communicator) {
  const dovetail_mpi_arguments given = dovetail_mpi_given(NULL, data, count, type, root, 0, communicator);
  return dovetail_mpi_collective("MPI_Ibcast", dovetail_mpi_begin_ibcast, &given, 0);
}
static inline int32_t dovetail_mpi_bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm communicator) {
  const dovetail_mpi_arguments given = dovetail_mpi_given(NULL, data, count, type, root, 0, communicator);
  return dovetail_mpi_collective("MPI_Bcast", dovetail_mpi_begin_ibcast, &given, 1);
}
static inline int32_t dovetail_mpi_ireduce(const void* data, void* result, int count, MPI_Datatype type,
                                           MPI_Op operation, int root, MPI_Comm communicator) {
  dovetail_mpi_arguments given = dovetail_mpi_given(data, result, count, type, root, 0, communicator);
  given.operation = operation;
  return dovetail_mpi_collective("MPI_Ireduce", dovetail_mpi_begin_ireduce, &given, 0);
}
static inline int32_t dovetail_mpi_reduce(const void* data, void* result, int count, MPI_Datatype type,
                                          MPI_Op operation, int root, MPI_Comm communicator) {
  dovetail_mpi_arguments given = dovetail_mpi_given(data, result, count, type, root, 0, communicator);
  given.operation = operation;
  return dovetail_mpi_collective("MPI_Reduce", dovetail_mpi_begin_ireduce, &given, 1);
}
static inline int32_t dovetail_mpi_iallreduce(const void* data, void* result, int count, MPI_Datatype type,
                                              MPI_Op operation, MPI_Comm communicator) {
  dovetail_mpi_arguments given = dovetail_mpi_given(data, result, count, type, 0, 0, communicator);
  given.operation = operation;
  return dovetail_mpi_collective("MPI_Iallreduce", dovetail_mpi_begin_iallreduce, &given, 0);
}
static inline int32_t dovetail_mpi_allreduce(const void* data, void* result, int count, MPI_Datatype type,
                                             MPI_Op operation, MPI_Comm communicator) {
  dovetail_mpi_arguments given = dovetail_mpi_given(data, result, count, type, 0, 0, communicator);
  given.operation = operation;
  return dovetail_mpi_collective("MPI_Allreduce", dovetail_mpi_begin_iallreduce, &given, 1);
}
/// @}

#ifdef __cplusplus
}
#endif

#endif
