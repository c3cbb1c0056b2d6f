// The functions of the MPI library itself, past every library that intercepts calls of MPI.
#pragma once

#include <mpi.h>

#include "abi/symbols.hpp"

namespace dovetail::interpose::mpi {

/// Those that are called here and are not in calls.def, as PMPI names them.
// clang-format off
#define DOVETAIL_MPI_FUNCTIONS(USE) \
  USE(Start) USE(Request_get_status) USE(Initialized) USE(Finalized) USE(Query_thread) USE(Is_thread_main) USE(Error_string) USE(Error_class) USE(Abort) USE(Cancel) USE(Type_size_x) \
  USE(Comm_create_errhandler) USE(Comm_get_errhandler) USE(Comm_set_errhandler) USE(Errhandler_free) \
  USE(Win_create_errhandler) USE(Win_get_errhandler) USE(Win_set_errhandler) \
  USE(Comm_create_keyval) USE(Comm_get_attr) USE(Comm_set_attr) USE(Comm_test_inter) USE(Comm_get_name) USE(Comm_size) USE(Comm_rank) USE(Comm_group) USE(Get_count) USE(Get_elements_x) USE(Get_library_version) \
  USE(Group_translate_ranks) USE(Group_size) USE(Group_free)
// clang-format on

// Names are no expressions.
// NOLINTBEGIN(bugprone-macro-parentheses)
struct Functions {
#define DOVETAIL_MPI_DECLARE(name) decltype(PMPI_##name)* name;
  DOVETAIL_MPI_FUNCTIONS(DOVETAIL_MPI_DECLARE)
#undef DOVETAIL_MPI_DECLARE
#define WITH_MPI_3
#define CALL(Name, name) decltype(PMPI_##Name)* Name;
#define FORM(Name, name) decltype(PMPI_##Name)* Name;
#include "calls.def"
#if MPI_VERSION >= 4
#define WITH_MPI_4
#define CALL(Name, name) decltype(PMPI_##Name)* Name;
#define FORM(Name, name) decltype(PMPI_##Name)* Name;
#include "calls.def"
#endif

  /// Of the calls that programs make, those of MPI 4 are null where the library is older than the header.
  /// @throws std::runtime_error if the library lacks another one.
  explicit Functions(const Symbols& symbols) {
#define DOVETAIL_MPI_FIND(name) symbols.find(name, "MPI_" #name);
    DOVETAIL_MPI_FUNCTIONS(DOVETAIL_MPI_FIND)
#undef DOVETAIL_MPI_FIND
#define WITH_MPI_3
#define CALL(Name, name) symbols.find(Name, "MPI_" #Name);
#define FORM(Name, name) symbols.find(Name, "MPI_" #Name);
#include "calls.def"
#if MPI_VERSION >= 4
#define WITH_MPI_4
#define CALL(Name, name) symbols.find_if_there(Name, "MPI_" #Name);
#define FORM(Name, name) symbols.find_if_there(Name, "MPI_" #Name);
#include "calls.def"
#endif
  }
};
// NOLINTEND(bugprone-macro-parentheses)

/// Those of the library of the process, once it has been found.
const Functions& mpi();
/// What mpi.h calls MPI_PACKED.
MPI_Datatype packed_type();

}  // namespace dovetail::interpose::mpi
