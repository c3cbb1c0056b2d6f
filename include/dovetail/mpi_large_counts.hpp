/// @file
/// Messages with counts that are wider than `int`, such as `std::size_t` and `MPI_Count`: the same functions, by the calls that MPI 4 has added. With an
/// older `mpi.h` such a count becomes an `int`. Included by <dovetail/mpi.hpp>, whose rules hold here. Collectives take such counts, too, and arrays of
/// `MPI_Count` (counts) and `MPI_Aint` (displacements).
#pragma once

#include <concepts>

#include "dovetail/detail/mpi_operations.hpp"

#if MPI_VERSION >= 4
namespace dovetail::mpi {

namespace detail {
template <class Count>
concept LargeCount = std::integral<Count> && (sizeof(Count) > sizeof(int));
template <class... Counts>
concept SomeLargeCount = (std::integral<Counts> && ...) && (LargeCount<Counts> || ...);

inline MPI_Count count_of(std::integral auto given) noexcept { return static_cast<MPI_Count>(given); }
}  // namespace detail

/// @name Operations that suspend the current task
/// @{
template <detail::LargeCount Count>
void send(const void* data, Count given, MPI_Datatype type, int rank, int tag, MPI_Comm communicator) {
  const MPI_Count count = detail::count_of(given);
  detail::wait(detail::to("MPI_Send", count, type, rank, tag, communicator),
               [=](MPI_Request* request) { return MPI_Isend_c(data, count, type, rank, tag, communicator, request); });
}
template <detail::LargeCount Count>
void ssend(const void* data, Count given, MPI_Datatype type, int rank, int tag, MPI_Comm communicator) {
  const MPI_Count count = detail::count_of(given);
  detail::wait(detail::to("MPI_Ssend", count, type, rank, tag, communicator),
               [=](MPI_Request* request) { return MPI_Issend_c(data, count, type, rank, tag, communicator, request); });
}
template <detail::LargeCount Count>
void recv(void* data, Count given, MPI_Datatype type, int rank, int tag, MPI_Comm communicator,
          MPI_Status* status = MPI_STATUS_IGNORE) {
  const MPI_Count count = detail::count_of(given);
  detail::wait(
      detail::from("MPI_Recv", rank, tag, communicator),
      [=](MPI_Request* request) { return MPI_Irecv_c(data, count, type, rank, tag, communicator, request); }, status);
}
template <class Sent, class Received>
  requires detail::SomeLargeCount<Sent, Received>
void sendrecv(const void* sent, Sent sent_count, MPI_Datatype sent_type, int destination, int sent_tag, void* received,
              Received received_count, MPI_Datatype received_type, int source, int received_tag, MPI_Comm communicator,
              MPI_Status* status = MPI_STATUS_IGNORE) {
  detail::send_and_receive(
      [&](MPI_Request* request) {
        return MPI_Irecv_c(received, detail::count_of(received_count), received_type, source, received_tag,
                           communicator, request);
      },
      [&](MPI_Request* request) {
        return MPI_Isend_c(sent, detail::count_of(sent_count), sent_type, destination, sent_tag, communicator, request);
      },
      [&] {
        return MPI_Sendrecv_c(sent, detail::count_of(sent_count), sent_type, destination, sent_tag, received,
                              detail::count_of(received_count), received_type, source, received_tag, communicator,
                              status);
      },
      detail::between("MPI_Sendrecv", source, received_tag, destination, sent_tag, communicator), communicator, status);
}
template <detail::LargeCount Count>
void mrecv(void* data, Count given, MPI_Datatype type, MPI_Message& message, MPI_Status* status = MPI_STATUS_IGNORE) {
  const MPI_Count count = detail::count_of(given);
  detail::wait(
      detail::Description::of("MPI_Mrecv"),
      [=, &message](MPI_Request* request) { return MPI_Imrecv_c(data, count, type, &message, request); }, status);
}
/// @}

/// @name Operations that are bound to the current task
/// @{
template <detail::LargeCount Count>
void isend(const void* data, Count given, MPI_Datatype type, int rank, int tag, MPI_Comm communicator) {
  const MPI_Count count = detail::count_of(given);
  detail::bind(detail::to("MPI_Isend", count, type, rank, tag, communicator),
               [=](MPI_Request* request) { return MPI_Isend_c(data, count, type, rank, tag, communicator, request); });
}
template <detail::LargeCount Count>
void issend(const void* data, Count given, MPI_Datatype type, int rank, int tag, MPI_Comm communicator) {
  const MPI_Count count = detail::count_of(given);
  detail::bind(detail::to("MPI_Issend", count, type, rank, tag, communicator),
               [=](MPI_Request* request) { return MPI_Issend_c(data, count, type, rank, tag, communicator, request); });
}
template <detail::LargeCount Count>
void irecv(void* data, Count given, MPI_Datatype type, int rank, int tag, MPI_Comm communicator,
           MPI_Status* status = MPI_STATUS_IGNORE) {
  const MPI_Count count = detail::count_of(given);
  detail::bind(
      detail::from("MPI_Irecv", rank, tag, communicator),
      [=](MPI_Request* request) { return MPI_Irecv_c(data, count, type, rank, tag, communicator, request); }, status);
}
template <detail::LargeCount Count>
void imrecv(void* data, Count given, MPI_Datatype type, MPI_Message& message, MPI_Status* status = MPI_STATUS_IGNORE) {
  const MPI_Count count = detail::count_of(given);
  detail::bind(
      detail::Description::of("MPI_Imrecv"),
      [=, &message](MPI_Request* request) { return MPI_Imrecv_c(data, count, type, &message, request); }, status);
}
/// @}

}  // namespace dovetail::mpi
#endif
