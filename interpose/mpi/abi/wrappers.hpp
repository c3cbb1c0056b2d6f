// The blocking calls of MPI, as they are in a process that has a runtime: in a task they pause it.
#pragma once

namespace dovetail::interpose::mpi {

/// Calls `lead` for each of them.
void lead_calls(bool (*lead)(const char* name, void (*target)()));

}  // namespace dovetail::interpose::mpi
