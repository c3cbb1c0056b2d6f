// Which MPI library the process has, and the part of Dovetail that speaks its binary interface.
#pragma once

#include "comm/mpi/library.hpp"

namespace dovetail::comm::mpi {

using detail::mpi::Abi;

/// The library, for a caller that was compiled for `abi`. The first call loads what speaks it, from where libdovetail lies. Any thread.
/// @throws std::runtime_error if the process has no such MPI library, or another one; std::logic_error if MPI has not been initialised,
/// or allows calls from one thread only.
Library& require_library(Abi abi);

/// If `libdovetail-mpi.so` stands before the MPI library of the process, its calls pause tasks from now on. Does nothing else. Any thread.
void lead_calls() noexcept;

}  // namespace dovetail::comm::mpi
