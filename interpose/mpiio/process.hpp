// What belongs to the process, not to a file: the configuration.
#pragma once

#include "configuration.hpp"

namespace dovetail::interpose::mpiio {

/// As MPI_Init has read it. Where a program has not called that one, the first caller reads it. Any thread.
const Configuration& configuration();

}  // namespace dovetail::interpose::mpiio
