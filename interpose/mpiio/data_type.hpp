// MPI's data types as layouts.
#pragma once

#include <mpi.h>

#include <optional>

#include "layout.hpp"

namespace dovetail::interpose::mpiio {

/// Takes time and memory for how the type was described, not for how often it repeats. Nothing: it was made in a way that is not known here.
/// @throws std::bad_alloc
std::optional<TypeLayout> layout_of(MPI_Datatype type);

}  // namespace dovetail::interpose::mpiio
