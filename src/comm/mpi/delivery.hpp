// What becomes of an operation that has ended.
#pragma once

#include <exception>
#include <string>

#include "comm/mpi/library.hpp"
#include "comm/mpi/operation.hpp"

namespace dovetail::comm::mpi {

/// "MPI_Recv from rank 1 with tag 3 in MPI_COMM_WORLD"
std::string text_of(const Operation& operation, const Library& library);
/// The same, with what it waits for by requests of the program: "MPI_Waitall for MPI_Recv from rank 1 with tag 3 in MPI_COMM_WORLD and 2 others".
/// While it waits. For the thread that has the turn.
std::string text_of_wait(const Operation& operation, Library& library);

/// What an operation that has failed makes its task fail with. Asks MPI: for the thread that has the turn.
std::exception_ptr failure_of(const Operation& operation, const Library& library) noexcept;

/// Tells the task that waits for the operation, which is gone afterwards. Outside of the turn: the program may go on at once.
void deliver(Operation* operation) noexcept;

}  // namespace dovetail::comm::mpi
