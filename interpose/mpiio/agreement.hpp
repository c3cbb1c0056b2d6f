// What the ranks of a file find out together.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>

namespace dovetail::interpose::mpiio {

/// Each number becomes the largest that a rank has. Collective.
void agree_on_largest(MPI_Comm communicator, std::span<std::int64_t> numbers);
/// Whether any rank has failed. Collective.
bool any_failed(MPI_Comm communicator, bool failed);

}  // namespace dovetail::interpose::mpiio
