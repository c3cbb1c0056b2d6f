// The blocking calls of MPI, as they are in a process that has a runtime: in a task they pause it.
#pragma once

namespace dovetail::interpose::mpi {

class Symbols;

/// Leads the call of that name to another function.
using LeadCall = bool (*)(const char* name, void (*target)());

/// Calls `lead` for each of them in C.
void lead_calls(LeadCall lead);
/// The same for Fortran, as far as the process has the libraries of that. `library`: the one of C.
void lead_fortran_calls(LeadCall lead, const Symbols& library);

}  // namespace dovetail::interpose::mpi
