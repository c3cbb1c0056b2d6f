/// @file
/// What the inline functions of dovetail_mpi.h, and the module dovetail_mpi of Fortran, call in the library. Needs no `mpi.h`. Not part of the
/// public contract.
#ifndef DOVETAIL_DETAIL_MPI_FUNCTIONS_H
#define DOVETAIL_DETAIL_MPI_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What an operation is, for errors and reports.
typedef struct dovetail_mpi_operation {
  const char* call;          ///< Name of the call; lives as long as the process.
  const void* communicator;  ///< Null: there is none.
  size_t communicator_size;  ///< Bytes of that handle, at most 8.
  int32_t peer;              ///< Rank of the other side; -1: none, -2: any.
  int32_t tag;               ///< -1: none, -2: any.
  int32_t receives;          ///< Not 0: the peer sends.
  const void* type;          ///< Of the elements that are sent. Null: it is not said.
  size_t type_size;          ///< Bytes of that handle, at most 8.
  int64_t count;             ///< So many elements are sent.
} dovetail_mpi_operation;
/// Waits for requests that have been started, or binds them. They become null. `abi` says for which `mpi.h` the caller was compiled. Null
/// statuses: they go nowhere.
int32_t dovetail_mpi_requests(int32_t abi, void* requests, size_t count, void* statuses, int32_t suspends);
/// Has an operation started by `start`, on whichever thread is in MPI, and waits for it or binds it. `start` gets a copy of the arguments, at
/// most 72 bytes, and returns MPI's code.
int32_t dovetail_mpi_begin(int32_t abi, const dovetail_mpi_operation* operation,
                           int (*start)(const void* arguments, void* request), const void* arguments,
                           size_t argument_size, void* status, int32_t suspends);
/// Waits until `attempt`, which is called again and again, sets its flag; outside of a task calls `blocking`. Both return MPI's code.
int32_t dovetail_mpi_attempt(int32_t abi, const dovetail_mpi_operation* operation,
                             int (*attempt)(void* arguments, int* flag), int (*blocking)(void* arguments),
                             void* arguments);
/// Binds the task to `attempt`, which is called again and again with a copy of the arguments until it sets the `bool` at `has_ended`.
int32_t dovetail_mpi_bind_attempt(int32_t abi, const dovetail_mpi_operation* operation,
                                  int (*attempt)(const void* arguments, void* has_ended), const void* arguments,
                                  size_t argument_size);
/// @name For the module dovetail_mpi of Fortran, with the numbers that it has for handles. Null statuses: they go nowhere.
/// @{
/// As dovetail_mpi_begin, bound to the task. `communicator`: its number.
int32_t dovetail_mpi_fortran_begin(const char* call, int32_t communicator, int32_t peer, int32_t tag, int32_t receives,
                                   int (*start)(const void* arguments, void* request), const void* arguments,
                                   size_t argument_size, void* status);
/// Writes the request that Fortran knows by this number.
void dovetail_mpi_fortran_request(int32_t number, void* request);
/// The address of a buffer, which Fortran has no type for.
void* dovetail_mpi_fortran_place(void* buffer);
/// Starts a persistent request, which stays the program's, and binds its end to the task.
int32_t dovetail_mpi_fortran_start(int32_t number, void* status);
/// Binds the arrival of a partition to the task.
int32_t dovetail_mpi_fortran_parrived(int32_t number, int32_t partition);
/// @}
/// As dovetail_mpi_requests, with the numbers that Fortran has for requests. Those that are taken over become `null`. Statuses at `ignored` are
/// ignored.
int32_t dovetail_mpi_fortran_requests(int32_t* numbers, int32_t count, int32_t null, void* statuses,
                                      const void* ignored, int32_t suspends);

#ifdef __cplusplus
}
#endif

#endif
