// Which MPI library the process has, and the part of Dovetail that speaks its binary interface.
#pragma once

#include "comm/mpi/library.hpp"

namespace dovetail::comm::mpi {

using detail::mpi::Abi;

/// The library, for a caller that was compiled for `abi`, or for none. The first call loads what speaks it, from where libdovetail lies. Any thread.
/// @throws std::runtime_error if the process has no such MPI library, or another one; std::logic_error if MPI has not been initialised.
Library& require_library(Abi abi);

/// Whether only the thread that initialised MPI may call it: with MPI_THREAD_FUNNELED, and with MPI_THREAD_SINGLE. False before
/// `require_library`. Any thread.
bool is_for_one_thread() noexcept;
/// Whether the calling thread may.
bool may_call_here() noexcept;

/// MPI ends: the next call of a task looks at its level again. Any thread.
void forget_level() noexcept;

/// If `libdovetail-mpi.so` stands before the MPI library of the process, its calls pause tasks from now on. Does nothing else. Any thread.
void lead_calls() noexcept;

}  // namespace dovetail::comm::mpi
