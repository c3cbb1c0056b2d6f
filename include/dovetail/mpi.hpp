/// @file
/// Messages of MPI as parts of tasks. A task that waits here gives its core to others; an operation that is bound here makes the task complete
/// (in `onready`: start) when it has ended. In the manner of TAMPI: K. Sala, S. Macià and V. Beltran, "Combining One-Sided
/// Communications with Task-Based Programming Models" (docs/papers.md), section II-C.
///
/// This header includes the program's `mpi.h`. The program links MPI itself and calls `MPI_Init_thread` with `MPI_THREAD_MULTIPLE`; with
/// `MPI_THREAD_SERIALIZED` too, as long as no other thread calls MPI while tasks may. Buffers and statuses live until the operation has ended.
/// Operations of one task are started in the order of its calls, so MPI's order of messages between two ranks holds for a task; between
/// tasks, their accesses decide. Which thread makes the call of MPI is not specified: a thread that is in MPI already takes over the operations of
/// others (section VI-C). With `MPI_THREAD_FUNNELED` that is the main thread, while it waits for tasks; a call of another thread is suspended until
/// the operation has been started, also one that only binds.
///
/// Errors: a function that waits throws `Error`, and a bound operation fails the task with it. This holds also under MPI's default handler of
/// errors, which would end the program (docs/messages.md). Outside of tasks the communicator's handler decides.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dovetail/detail/mpi_operations.hpp"
#include "dovetail/mpi_collectives.hpp"
#include "dovetail/mpi_error.hpp"
#include "dovetail/mpi_large_counts.hpp"

namespace dovetail::mpi {

/// @name Requests that the program has started
/// They are taken over and become `MPI_REQUEST_NULL` at once. Persistent requests have calls of their own below.
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
/// Suspends the current task until one of the requests has ended, as `MPI_Waitany`: that one alone becomes `MPI_REQUEST_NULL`, or inactive if it
/// is persistent. @returns Its place; `MPI_UNDEFINED` if none is active. @throws Error
inline int waitany(std::span<MPI_Request> requests, MPI_Status* status = MPI_STATUS_IGNORE) {
  int place = MPI_UNDEFINED;
  const int count = static_cast<int>(requests.size());
  detail::RecordedRequests recorded(count, requests.data());
  MPI_Status* const into = recorded.status_or_own(status);
  detail::Description waits = detail::Description::of("MPI_Waitany");
  waits.awaited = {requests.data(), static_cast<std::uint32_t>(count)};
  // Before: MPI may give the handle of a request that has failed to another thread's.
  std::vector<detail::Description> named;
  named.reserve(requests.size());
  for (const MPI_Request& request : requests) {
    named.push_back(dovetail::detail::mpi::describe_request(&request, sizeof request, waits.call));
  }
  int failure = MPI_SUCCESS;
  detail::Description failed = waits;
  detail::wait_attempt(
      waits,
      [&](int* flag) {
        const int code = MPI_Testany(count, requests.data(), &place, flag, into);
        if (recorded && code == MPI_SUCCESS && *flag != 0) {
          recorded.note_end(place, *into);
        }
        if (code != MPI_SUCCESS && place >= 0 && place < count) {
          failure = code;
          failed = named[static_cast<std::size_t>(place)];
          *flag = 1;
          return MPI_SUCCESS;
        }
        return code;
      },
      [&] { return MPI_Waitany(count, requests.data(), &place, status); });
  if (failure != MPI_SUCCESS) {
    dovetail::detail::mpi::fail(detail::abi, failed, failure);
  }
  return place;
}
/// @}

/// @name Persistent and partitioned requests
/// They stay the program's, and can be started again when the task has completed. @throws std::logic_error outside of a task.
/// @{

/// Starts a persistent request and binds its end to the current task. Does not suspend.
inline void start(MPI_Request request, MPI_Status* status = MPI_STATUS_IGNORE) {
  detail::bind(
      dovetail::detail::mpi::describe_request(&request, sizeof request, "MPI_Start"),
      [request](MPI_Request* started) {
        *started = request;
        return MPI_Start(started);
      },
      status);
}
/// The same for all of them, in their order. `statuses`: as many, or ignored.
inline void startall(std::span<const MPI_Request> requests, MPI_Status* statuses = MPI_STATUSES_IGNORE) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    start(requests[i], detail::or_null(statuses) != nullptr ? statuses + i : MPI_STATUS_IGNORE);
  }
}
#if MPI_VERSION >= 4
/// Binds the arrival of one partition to the current task. The request is that of `MPI_Precv_init` and has been started, by `start` in
/// another task or by `MPI_Start`. Does not suspend.
inline void parrived(MPI_Request request, int partition) {
  detail::bind_attempt(detail::Description::of("MPI_Parrived"),
                       [=](int* flag) { return MPI_Parrived(request, partition, flag); });
}
#endif
/// @}

/// @name Operations that suspend the current task until they have ended; outside of a task they block. @throws Error
/// @{
inline void send(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm communicator) {
  detail::wait(detail::to("MPI_Send", count, type, rank, tag, communicator),
               [=](MPI_Request* request) { return MPI_Isend(data, count, type, rank, tag, communicator, request); });
}
inline void ssend(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm communicator) {
  detail::wait(detail::to("MPI_Ssend", count, type, rank, tag, communicator),
               [=](MPI_Request* request) { return MPI_Issend(data, count, type, rank, tag, communicator, request); });
}
inline void recv(void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm communicator,
                 MPI_Status* status = MPI_STATUS_IGNORE) {
  detail::wait(
      detail::from("MPI_Recv", rank, tag, communicator),
      [=](MPI_Request* request) { return MPI_Irecv(data, count, type, rank, tag, communicator, request); }, status);
}
/// Both at once; the one does not wait for the other. The buffers do not overlap.
inline void sendrecv(const void* sent, int sent_count, MPI_Datatype sent_type, int destination, int sent_tag,
                     void* received, int received_count, MPI_Datatype received_type, int source, int received_tag,
                     MPI_Comm communicator, MPI_Status* status = MPI_STATUS_IGNORE) {
  detail::send_and_receive(
      [&](MPI_Request* request) {
        return MPI_Irecv(received, received_count, received_type, source, received_tag, communicator, request);
      },
      [&](MPI_Request* request) {
        return MPI_Isend(sent, sent_count, sent_type, destination, sent_tag, communicator, request);
      },
      [&] {
        return MPI_Sendrecv(sent, sent_count, sent_type, destination, sent_tag, received, received_count, received_type,
                            source, received_tag, communicator, status);
      },
      detail::between("MPI_Sendrecv", source, received_tag, destination, sent_tag, communicator), communicator, status);
}
/// Until a message is there, which is not received.
inline void probe(int rank, int tag, MPI_Comm communicator, MPI_Status* status = MPI_STATUS_IGNORE) {
  detail::wait_attempt(
      detail::from("MPI_Probe", rank, tag, communicator),
      [&](int* flag) { return MPI_Iprobe(rank, tag, communicator, flag, status); },
      [&] { return MPI_Probe(rank, tag, communicator, status); });
}
/// The same; no other receive or probe meets the message any more. @returns The message, which `mrecv` or `imrecv` receives.
inline MPI_Message mprobe(int rank, int tag, MPI_Comm communicator, MPI_Status* status = MPI_STATUS_IGNORE) {
  MPI_Message message = MPI_MESSAGE_NULL;
  dovetail::detail::mpi::Found found;
  detail::Description matching = detail::from("MPI_Mprobe", rank, tag, communicator);
  matching.found = &found;
  detail::wait_attempt(
      matching,
      [&](int* flag) { return detail::match(MPI_Improbe, rank, tag, communicator, flag, message, status, found); },
      [&] { return MPI_Mprobe(rank, tag, communicator, &message, status); });
  return message;
}
/// `message` becomes `MPI_MESSAGE_NULL`.
inline void mrecv(void* data, int count, MPI_Datatype type, MPI_Message& message,
                  MPI_Status* status = MPI_STATUS_IGNORE) {
  detail::wait(
      detail::Description::of("MPI_Mrecv"),
      [=, &message](MPI_Request* request) { return MPI_Imrecv(data, count, type, &message, request); }, status);
}
/// @}

/// @name Operations that are bound to the current task; they never suspend. @throws std::logic_error outside of a task.
/// A failure fails the task with `Error`. For any other operation that has a request, start it and `iwait`.
/// @{
inline void isend(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm communicator) {
  detail::bind(detail::to("MPI_Isend", count, type, rank, tag, communicator),
               [=](MPI_Request* request) { return MPI_Isend(data, count, type, rank, tag, communicator, request); });
}
inline void issend(const void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm communicator) {
  detail::bind(detail::to("MPI_Issend", count, type, rank, tag, communicator),
               [=](MPI_Request* request) { return MPI_Issend(data, count, type, rank, tag, communicator, request); });
}
inline void irecv(void* data, int count, MPI_Datatype type, int rank, int tag, MPI_Comm communicator,
                  MPI_Status* status = MPI_STATUS_IGNORE) {
  detail::bind(
      detail::from("MPI_Irecv", rank, tag, communicator),
      [=](MPI_Request* request) { return MPI_Irecv(data, count, type, rank, tag, communicator, request); }, status);
}
/// `message` is that of `mprobe`, and becomes `MPI_MESSAGE_NULL` at once.
inline void imrecv(void* data, int count, MPI_Datatype type, MPI_Message& message,
                   MPI_Status* status = MPI_STATUS_IGNORE) {
  detail::bind(
      detail::Description::of("MPI_Imrecv"),
      [=, &message](MPI_Request* request) { return MPI_Imrecv(data, count, type, &message, request); }, status);
}
/// @}

}  // namespace dovetail::mpi
