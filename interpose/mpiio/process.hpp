// What belongs to the process, not to a file: the configuration.
#pragma once

#include "configuration.hpp"
#include "hints.hpp"

namespace dovetail::interpose::mpiio {

/// As MPI_Init has read it. Where a program has not called that one, the first caller reads it. Any thread.
const Configuration& configuration();

/// Those that the environment names; the usual ones else. Likewise.
const Hints& usual_hints();

/// Has the deferred files drained in MPI_Finalize, also where a program calls that past this library, as Fortran programs do. Any thread, while MPI is there.
void finish_at_finalize();

}  // namespace dovetail::interpose::mpiio
