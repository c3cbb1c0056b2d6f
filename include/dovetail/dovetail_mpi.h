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

#include "dovetail/detail/mpi_describe.h"
#include "dovetail/detail/mpi_functions.h"

#ifdef __cplusplus
extern "C" {
#endif

/// @name What the functions below are made of
/// Not for programs.
/// @{

/// The arguments of an operation, as far as it has them.
typedef struct dovetail_mpi_arguments {
  const void* sent;       ///< Buffer that is sent.
  void* received;         ///< Buffer that is received in.
  int count;              ///< Elements.
  int rank;               ///< Of the other side, or of the root.
  int tag;                ///< Of the message.
  MPI_Datatype type;      ///< Of the elements.
  MPI_Comm communicator;  ///< Of all.
} dovetail_mpi_arguments;

static inline dovetail_mpi_operation dovetail_mpi_describe_message(const char* call, int receives, int rank, int tag,
                                                                   const MPI_Comm* communicator) {
  dovetail_mpi_operation made = dovetail_mpi_describe(call, communicator);
  made.peer = rank == MPI_PROC_NULL ? -1 : rank;
  made.tag = tag;
  made.receives = receives;
  if (receives) {
    made.peer = rank == MPI_ANY_SOURCE ? -2 : made.peer;
    made.tag = tag == MPI_ANY_TAG ? -2 : made.tag;
  }
  return made;
}
static inline int32_t dovetail_mpi_message(const char* call, int receives, int (*start)(const void*, void*),
                                           const dovetail_mpi_arguments* given, MPI_Status* status, int suspends) {
  dovetail_mpi_operation made =
      dovetail_mpi_describe_message(call, receives, given->rank, given->tag, &given->communicator);
  made.type = receives ? NULL : &given->type;
  made.type_size = sizeof given->type;
  made.count = given->count;
  return dovetail_mpi_begin(DOVETAIL_MPI_ABI, &made, start, given, sizeof *given,
                            status == MPI_STATUS_IGNORE ? NULL : status, suspends);
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
static inline int dovetail_mpi_begin_start(const void* given, void* request) {
  *(MPI_Request*)request = *(const MPI_Request*)given;
  return MPI_Start((MPI_Request*)request);
}
/// The arguments of a wait for the first of several requests.
typedef struct dovetail_mpi_several {
  MPI_Request* requests;  ///< All of them.
  int count;              ///< How many they are.
  int* found;             ///< How many have ended. Null: the first is waited for.
  int* place;             ///< Where the number of each goes that has ended.
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
static inline int dovetail_mpi_test_some(void* given, int* flag) {
  const dovetail_mpi_several* with = (const dovetail_mpi_several*)given;
  const int code = MPI_Testsome(with->count, with->requests, with->found, with->place, with->status);
  *flag = *with->found != 0 || code != MPI_SUCCESS;
  return code;
}
static inline int dovetail_mpi_wait_for_some(void* given) {
  const dovetail_mpi_several* with = (const dovetail_mpi_several*)given;
  return MPI_Waitsome(with->count, with->requests, with->found, with->place, with->status);
}
/// The arguments of a probe.
typedef struct dovetail_mpi_match {
  int rank;               ///< Of the sender.
  int tag;                ///< Of the message.
  MPI_Comm communicator;  ///< Of both.
  MPI_Message* message;   ///< Where the message goes that is matched.
  MPI_Status* status;     ///< Where its status goes.
} dovetail_mpi_match;
static inline int dovetail_mpi_test_probe(void* given, int* flag) {
  const dovetail_mpi_match* with = (const dovetail_mpi_match*)given;
  return MPI_Iprobe(with->rank, with->tag, with->communicator, flag, with->status);
}
static inline int dovetail_mpi_probe_now(void* given) {
  const dovetail_mpi_match* with = (const dovetail_mpi_match*)given;
  return MPI_Probe(with->rank, with->tag, with->communicator, with->status);
}
static inline int dovetail_mpi_test_mprobe(void* given, int* flag) {
  const dovetail_mpi_match* with = (const dovetail_mpi_match*)given;
  return MPI_Improbe(with->rank, with->tag, with->communicator, flag, with->message, with->status);
}
static inline int dovetail_mpi_mprobe_now(void* given) {
  const dovetail_mpi_match* with = (const dovetail_mpi_match*)given;
  return MPI_Mprobe(with->rank, with->tag, with->communicator, with->message, with->status);
}
/// The arguments of the receive of a message that was matched.
typedef struct dovetail_mpi_of_match {
  void* data;            ///< Buffer that is received in.
  MPI_Message* message;  ///< Which was matched.
  MPI_Datatype type;     ///< Of the elements.
  int count;             ///< Elements.
} dovetail_mpi_of_match;
static inline int dovetail_mpi_begin_imrecv(const void* given, void* request) {
  const dovetail_mpi_of_match* with = (const dovetail_mpi_of_match*)given;
  return MPI_Imrecv(with->data, with->count, with->type, with->message, (MPI_Request*)request);
}
static inline int32_t dovetail_mpi_matched(const char* call, void* data, int count, MPI_Datatype type,
                                           MPI_Message* message, MPI_Status* status, int suspends) {
  const dovetail_mpi_operation made = dovetail_mpi_describe(call, NULL);
  const dovetail_mpi_of_match given = {data, message, type, count};
  return dovetail_mpi_begin(DOVETAIL_MPI_ABI, &made, dovetail_mpi_begin_imrecv, &given, sizeof given,
                            status == MPI_STATUS_IGNORE ? NULL : status, suspends);
}
/// A message in each direction.
typedef struct dovetail_mpi_exchange {
  dovetail_mpi_arguments sent;      ///< What goes.
  dovetail_mpi_arguments received;  ///< What comes.
  MPI_Request requests[2];          ///< Of the receive and of the send, once they are started.
  int is_started;                   ///< Whether they are.
  int code;                         ///< Of the first that failed.
  MPI_Status* status;               ///< Where that of the receive goes.
} dovetail_mpi_exchange;
static inline int dovetail_mpi_test_exchange(void* given, int* flag) {
  dovetail_mpi_exchange* with = (dovetail_mpi_exchange*)given;
  int i = 0;
  *flag = 1;
  if (!with->is_started) {
    with->is_started = 1;
    with->requests[0] = MPI_REQUEST_NULL;
    with->requests[1] = MPI_REQUEST_NULL;
    with->code = dovetail_mpi_begin_irecv(&with->received, &with->requests[0]);
    if (with->code == MPI_SUCCESS) {
      with->code = dovetail_mpi_begin_isend(&with->sent, &with->requests[1]);
      if (with->code != MPI_SUCCESS) {
        MPI_Cancel(&with->requests[0]);
      }
    }
  }
  for (i = 0; i < 2; ++i) {
    if (with->requests[i] != MPI_REQUEST_NULL) {
      int ended = 0;
      const int code = MPI_Test(&with->requests[i], &ended, i == 0 ? with->status : MPI_STATUS_IGNORE);
      if (code != MPI_SUCCESS) {
        with->code = with->code == MPI_SUCCESS ? code : with->code;
        with->requests[i] = MPI_REQUEST_NULL;
      }
      *flag = *flag && (ended || code != MPI_SUCCESS);
    }
  }
  return *flag ? with->code : MPI_SUCCESS;
}
static inline int dovetail_mpi_exchange_now(void* given) {
  const dovetail_mpi_exchange* with = (const dovetail_mpi_exchange*)given;
  const dovetail_mpi_arguments* sent = &with->sent;
  const dovetail_mpi_arguments* received = &with->received;
  return MPI_Sendrecv(sent->sent, sent->count, sent->type, sent->rank, sent->tag, received->received, received->count,
                      received->type, received->rank, received->tag, sent->communicator, with->status);
}
#if MPI_VERSION >= 4
/// A partition of a request.
typedef struct dovetail_mpi_partition {
  MPI_Request request;  ///< Of MPI_Precv_init.
  int number;           ///< Of the partition.
} dovetail_mpi_partition;
static inline int dovetail_mpi_test_parrived(const void* given, void* has_ended) {
  const dovetail_mpi_partition* with = (const dovetail_mpi_partition*)given;
  int flag = 0;
  const int code = MPI_Parrived(with->request, with->number, &flag);
  *(unsigned char*)has_ended = flag != 0;
  return code;
}
#endif
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
  given.found = NULL;
  given.place = place;
  given.status = status;
  return dovetail_mpi_attempt(DOVETAIL_MPI_ABI, &made, dovetail_mpi_test_several, dovetail_mpi_wait_for_several,
                              &given);
}
/// As `MPI_Waitsome`: `places` and `statuses` have room for all.
static inline int32_t dovetail_mpi_waitsome(int count, MPI_Request* requests, int* found, int* places,
                                            MPI_Status* statuses) {
  const dovetail_mpi_operation made = dovetail_mpi_describe("MPI_Waitsome", NULL);
  dovetail_mpi_several given;
  given.requests = requests;
  given.count = count;
  given.found = found;
  given.place = places;
  given.status = statuses;
  return dovetail_mpi_attempt(DOVETAIL_MPI_ABI, &made, dovetail_mpi_test_some, dovetail_mpi_wait_for_some, &given);
}
/// @}

/// @name Persistent and partitioned requests
/// @{

/// Starts the request and binds its end to the current task. It stays the program's, and can be started again when the task has completed.
/// Does not suspend. Context: task, and in `onready`.
static inline int32_t dovetail_mpi_start(MPI_Request request, MPI_Status* status) {
  const dovetail_mpi_operation made = dovetail_mpi_describe("MPI_Start", NULL);
  return dovetail_mpi_begin(DOVETAIL_MPI_ABI, &made, dovetail_mpi_begin_start, &request, sizeof request,
                            status == MPI_STATUS_IGNORE ? NULL : status, 0);
}
/// The same for all of them, in their order. `statuses`: as many, or ignored.
static inline int32_t dovetail_mpi_startall(size_t count, const MPI_Request* requests, MPI_Status* statuses) {
  int32_t result = 0;
  size_t i = 0;
  for (i = 0; i < count && result == 0; ++i) {
    result = dovetail_mpi_start(requests[i], statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i);
  }
  return result;
}
#if MPI_VERSION >= 4
/// Binds the arrival of one partition to the current task. The request is that of `MPI_Precv_init` and has been started, by `dovetail_mpi_start` in another
/// task or by `MPI_Start`. Does not suspend. Context: task, and in `onready`.
static inline int32_t dovetail_mpi_parrived(MPI_Request request, int partition) {
  const dovetail_mpi_operation made = dovetail_mpi_describe("MPI_Parrived", NULL);
  const dovetail_mpi_partition given = {request, partition};
  return dovetail_mpi_bind_attempt(DOVETAIL_MPI_ABI, &made, dovetail_mpi_test_parrived, &given, sizeof given);
}
#endif
/// @}

/// @name Messages
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
/// Sends and receives at once; the one does not wait for the other. The buffers do not overlap.
static inline int32_t dovetail_mpi_sendrecv(const void* sent, int sent_count, MPI_Datatype sent_type, int destination,
                                            int sent_tag, void* received, int received_count,
                                            MPI_Datatype received_type, int source, int received_tag,
                                            MPI_Comm communicator, MPI_Status* status) {
  dovetail_mpi_operation made = dovetail_mpi_describe_message("MPI_Sendrecv", 1, source, received_tag, &communicator);
  dovetail_mpi_exchange given;
  given.requests[0] = MPI_REQUEST_NULL;
  given.requests[1] = MPI_REQUEST_NULL;
  given.is_started = 0;
  given.sent = dovetail_mpi_given(sent, NULL, sent_count, sent_type, destination, sent_tag, communicator);
  given.received =
      dovetail_mpi_given(NULL, received, received_count, received_type, source, received_tag, communicator);
  given.status = status;
  given.code = MPI_SUCCESS;
  return dovetail_mpi_attempt(DOVETAIL_MPI_ABI, &made, dovetail_mpi_test_exchange, dovetail_mpi_exchange_now, &given);
}
/// Until a message is there, which is not received.
static inline int32_t dovetail_mpi_probe(int rank, int tag, MPI_Comm communicator, MPI_Status* status) {
  const dovetail_mpi_operation made = dovetail_mpi_describe_message("MPI_Probe", 1, rank, tag, &communicator);
  dovetail_mpi_match given = {rank, tag, communicator, NULL, status};
  return dovetail_mpi_attempt(DOVETAIL_MPI_ABI, &made, dovetail_mpi_test_probe, dovetail_mpi_probe_now, &given);
}
/// The same; no other receive or probe meets the message any more, which `dovetail_mpi_mrecv` or `dovetail_mpi_imrecv` receives.
static inline int32_t dovetail_mpi_mprobe(int rank, int tag, MPI_Comm communicator, MPI_Message* message,
                                          MPI_Status* status) {
  const dovetail_mpi_operation made = dovetail_mpi_describe_message("MPI_Mprobe", 1, rank, tag, &communicator);
  dovetail_mpi_match given = {rank, tag, communicator, message, status};
  return dovetail_mpi_attempt(DOVETAIL_MPI_ABI, &made, dovetail_mpi_test_mprobe, dovetail_mpi_mprobe_now, &given);
}
/// `*message` becomes `MPI_MESSAGE_NULL` at once.
static inline int32_t dovetail_mpi_imrecv(void* data, int count, MPI_Datatype type, MPI_Message* message,
                                          MPI_Status* status) {
  return dovetail_mpi_matched("MPI_Imrecv", data, count, type, message, status, 0);
}
static inline int32_t dovetail_mpi_mrecv(void* data, int count, MPI_Datatype type, MPI_Message* message,
                                         MPI_Status* status) {
  return dovetail_mpi_matched("MPI_Mrecv", data, count, type, message, status, 1);
}
/// @}

/// @name Collectives
/// `dovetail_mpi_barrier`, `bcast`, `gather`, `gatherv`, `scatter`, `scatterv`, `allgather`, `allgatherv`, `alltoall`, `alltoallv`, `alltoallw`, `reduce`,
/// `allreduce`, `reduce_scatter`, `reduce_scatter_block`, `scan`, `exscan`, `neighbor_allgather`, `neighbor_allgatherv`, `neighbor_alltoall`,
/// `neighbor_alltoallv` and `neighbor_alltoallw` suspend; each has a form with an `i` that is bound. They have the parameters of MPI's functions.
/// Arrays of counts, displacements and types live until the operation has ended.
/// @{
#include "dovetail/detail/mpi_collectives.h"
/// @}

#ifdef __cplusplus
}
#endif

#endif
