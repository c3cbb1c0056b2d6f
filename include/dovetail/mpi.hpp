/// @file
/// Messages of MPI as parts of tasks. A task that waits here gives its core to others; an operation that is bound here makes the task complete
/// (in `onready`: start) when it has ended. In the manner of TAMPI, as K. Sala, S. Macià and V. Beltran describe it in "Combining One-Sided
/// Communications with Task-Based Programming Models" (docs/papers.md), section II-C.
///
/// This header includes the program's `mpi.h`. The program links MPI itself and calls `MPI_Init_thread` with `MPI_THREAD_MULTIPLE`; with
/// `MPI_THREAD_SERIALIZED` too, as long as no other thread calls MPI while tasks may. Buffers and statuses live until the operation has ended.
/// Operations of one task are started in the order of its calls, so MPI's order of messages between two ranks holds for a task; between
/// tasks, their accesses decide. Which thread makes the call of MPI is not said: the one that is in MPI already takes over what others have
/// to start (section VI-C).
///
/// Errors: a function that waits throws `Error`, and a bound operation fails the task with it, also where the communicator has MPI's default
/// handler, which ends the program (docs/messages.md). Outside of tasks the communicator's handler decides.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstring>
#include <span>

#include "dovetail/detail/mpi_calls.hpp"
#include "dovetail/mpi_error.hpp"

namespace dovetail::mpi {
namespace detail {

using dovetail::detail::mpi::Description;
using dovetail::detail::mpi::Start;

/// The binary interface of this `mpi.h`.
#ifdef OPEN_MPI
inline constexpr auto abi = dovetail::detail::mpi::Abi::openmpi;
#else
inline constexpr auto abi = dovetail::detail::mpi::Abi::mpich;
#endif

/// Null where the program ignores statuses.
inline void* or_null(MPI_Status* status) noexcept {
  return status == MPI_STATUS_IGNORE || status == MPI_STATUSES_IGNORE ? nullptr : status;
}

/// Of a collective.
inline Description describe(const char* call, MPI_Comm communicator) noexcept {
  static_assert(sizeof communicator <= sizeof(dovetail::detail::mpi::Communicator));
  Description made;
  made.call = call;
  made.has_communicator = true;
  std::memcpy(made.communicator.handle.data(), &communicator, sizeof communicator);
  return made;
}

/// Of a message to a rank.
inline Description to(const char* call, int rank, int tag, MPI_Comm communicator) noexcept {
  Description made = describe(call, communicator);
  made.peer = rank == MPI_PROC_NULL ? dovetail::detail::mpi::no_peer : rank;
  made.tag = tag;
  return made;
}

/// Of a message from a rank, or from any.
inline Description from(const char* call, int rank, int tag, MPI_Comm communicator) noexcept {
  Description made = to(call, rank, tag, communicator);
  made.receives = true;
  made.peer = rank == MPI_ANY_SOURCE ? dovetail::detail::mpi::any_source : made.peer;
  made.tag = tag == MPI_ANY_TAG ? dovetail::detail::mpi::any_tag : tag;
  return made;
}

/// `call` starts the operation and writes its request; its end is bound to the current task.
template <class Call>
void bind(const Description& description, const Call& call, MPI_Status* status = MPI_STATUS_IGNORE) {
  const auto start = [call](void* request) { return call(static_cast<MPI_Request*>(request)); };
  dovetail::detail::mpi::start_and_bind(abi, description, Start::of(start), or_null(status));
}
/// The same; the current task is suspended until the end.
template <class Call>
void wait(const Description& description, const Call& call, MPI_Status* status = MPI_STATUS_IGNORE) {
  const auto start = [call](void* request) { return call(static_cast<MPI_Request*>(request)); };
  dovetail::detail::mpi::start_and_wait(abi, description, Start::of(start), or_null(status));
}

}  // namespace detail

/// @name Requests that the program has started
/// They are taken over and become `MPI_REQUEST_NULL` at once. Not for persistent requests.
/// @{

/// Suspends the current task until the request has ended; outside of a task, as `MPI_Wait`. @throws Error
inline void wait(MPI_Request& request, MPI_Status* status = MPI_STATUS_IGNORE) {
  dovetail::detail::mpi::wait(detail::abi, &request, 1, detail::or_null(status));
}
/// The same for all of them. `statuses`: as many, or ignored. @throws Error of the first that failed, when all have ended.
inline void waitall(std::span<MPI_Request> requests, MPI_Status* statuses = MPI_STATUSES_IGNORE) {
  dovetail::detail::mpi::wait(detail::abi, requests.data(), requests.size(), detail::or_null(statuses));
}
/// Binds the end of the request to the current task. Does not suspend. @throws std::logic_error outside of a task.
inline void iwait(MPI_Request& request, MPI_Status* status = MPI_STATUS_IGNORE) {
  dovetail::detail::mpi::bind(detail::abi, &request, 1, detail::or_null(status));
}
/// The same for all of them.
inline void iwaitall(std::span<MPI_Request> requests, MPI_Status* statuses = MPI_STATUSES_IGNORE) {
  dovetail::detail::mpi::bind(detail::abi, requests.data(), requests.size(), detail::or_null(statuses));
}
/// @}

/// @name Operations that suspend the current task until they have ended; outside of a task they block. @throws Error
/// @{
inline void send(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm communicator) {
  detail::wait(detail::to("MPI_Send", rank, tag, communicator),
               [=](MPI_Request* request) { return MPI_Isend(data, count, type, rank, tag, communicator, request); });
}
inline void ssend(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm communicator) {
  detail::wait(detail::to("MPI_Ssend", rank, tag, communicator),
               [=](MPI_Request* request) { return MPI_Issend(data, count, type, rank, tag, communicator, request); });
}
inline void recv(void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm communicator,
                 MPI_Status* status = MPI_STATUS_IGNORE) {
  detail::wait(
      detail::from("MPI_Recv", rank, tag, communicator),
      [=](MPI_Request* request) { return MPI_Irecv(data, count, type, rank, tag, communicator, request); }, status);
}
inline void barrier(MPI_Comm communicator) {
  detail::wait(detail::describe("MPI_Barrier", communicator),
               [=](MPI_Request* request) { return MPI_Ibarrier(communicator, request); });
}
inline void bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm communicator) {
  detail::wait(detail::describe("MPI_Bcast", communicator),
               [=](MPI_Request* request) { return MPI_Ibcast(data, count, type, root, communicator, request); });
}
inline void reduce(const void* data, void* result, int count, MPI_Datatype type, MPI_Op operation, int root,
                   MPI_Comm communicator) {
  detail::wait(detail::describe("MPI_Reduce", communicator), [=](MPI_Request* request) {
    return MPI_Ireduce(data, result, count, type, operation, root, communicator, request);
  });
}
inline void allreduce(const void* data, void* result, int count, MPI_Datatype type, MPI_Op operation,
                      MPI_Comm communicator) {
  detail::wait(detail::describe("MPI_Allreduce", communicator), [=](MPI_Request* request) {
    return MPI_Iallreduce(data, result, count, type, operation, communicator, request);
  });
}
/// @}

/// @name Operations that are bound to the current task; they never suspend. @throws std::logic_error outside of a task.
/// A failure fails the task with `Error`. For any other operation that has a request, start it and `iwait`.
/// @{
inline void isend(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm communicator) {
  detail::bind(detail::to("MPI_Isend", rank, tag, communicator),
               [=](MPI_Request* request) { return MPI_Isend(data, count, type, rank, tag, communicator, request); });
}
inline void issend(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm communicator) {
  detail::bind(detail::to("MPI_Issend", rank, tag, communicator),
               [=](MPI_Request* request) { return MPI_Issend(data, count, type, rank, tag, communicator, request); });
}
inline void irecv(void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm communicator,
                  MPI_Status* status = MPI_STATUS_IGNORE) {
  detail::bind(
      detail::from("MPI_Irecv", rank, tag, communicator),
      [=](MPI_Request* request) { return MPI_Irecv(data, count, type, rank, tag, communicator, request); }, status);
}
inline void ibarrier(MPI_Comm communicator) {
  detail::bind(detail::describe("MPI_Ibarrier", communicator),
               [=](MPI_Request* request) { return MPI_Ibarrier(communicator, request); });
}
inline void ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm communicator) {
  detail::bind(detail::describe("MPI_Ibcast", communicator),
               [=](MPI_Request* request) { return MPI_Ibcast(data, count, type, root, communicator, request); });
}
inline void ireduce(const void* data, void* result, int count, MPI_Datatype type, MPI_Op operation, int root,
                    MPI_Comm communicator) {
  detail::bind(detail::describe("MPI_Ireduce", communicator), [=](MPI_Request* request) {
    return MPI_Ireduce(data, result, count, type, operation, root, communicator, request);
  });
}
inline void iallreduce(const void* data, void* result, int count, MPI_Datatype type, MPI_Op operation,
                       MPI_Comm communicator) {
  detail::bind(detail::describe("MPI_Iallreduce", communicator), [=](MPI_Request* request) {
    return MPI_Iallreduce(data, result, count, type, operation, communicator, request);
  });
}
/// @}

}  // namespace dovetail::mpi
