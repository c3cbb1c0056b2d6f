// What traces have of messages. A message is in them as long as a task waits for it, with its place among the others: so both ends are found.
#pragma once

#include "comm/mpi/operation.hpp"
#include "trace/trace.hpp"

namespace dovetail::comm::mpi {

class Library;
using detail::mpi::BegunCall;

namespace recorded {

void begin(Operation& operation) noexcept;
void post(Operation& operation, Library& library) noexcept;
void end(const Operation& operation) noexcept;
/// A message that the program starts by itself. In the turn. @returns MPI's code.
int start_for_program(const BegunCall& call, const Description& description, const Start& start, void* request,
                      Library& library);
/// It has ended, and no operation waits for it.
void end_for_program(const void* request, const Library& library, const detail::mpi::Found& found) noexcept;

}  // namespace recorded

/// By the thread that makes the call, before the operation is submitted: `task` or `wait` is set.
inline void record_begin(Operation& operation) noexcept {
  if (trace::enabled()) [[unlikely]] {
    recorded::begin(operation);
  }
}
/// In the turn, right before MPI gets it: in this order MPI matches messages.
inline void record_post(Operation& operation, Library& library) noexcept {
  if (trace::enabled()) [[unlikely]] {
    recorded::post(operation, library);
  }
}
/// Before its task is told.
inline void record_end(const Operation& operation) noexcept {
  if (trace::enabled()) [[unlikely]] {
    recorded::end(operation);
  }
}

}  // namespace dovetail::comm::mpi
