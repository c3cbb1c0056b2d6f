// The functions and handles of the MPI library that the process has loaded. This library is compiled with the header of one binary interface and linked
// with no MPI, as libdovetail-mpi-<library>.so is.
#pragma once

#include <mpi.h>

#include "abi/symbols.hpp"

namespace dovetail::interpose::mpiio {

// clang-format off
#define DOVETAIL_MPIIO_CALLS(USE) \
  USE(File_open) USE(File_close) USE(File_delete) USE(File_set_size) USE(File_preallocate) USE(File_get_size) USE(File_set_info) USE(File_get_info) \
  USE(File_set_view) USE(File_set_atomicity) USE(File_sync) USE(File_seek) USE(File_seek_shared) USE(File_get_position) \
  USE(File_read_at) USE(File_read_at_all) USE(File_read) USE(File_read_all) USE(File_read_shared) USE(File_read_ordered) \
  USE(File_iread_at) USE(File_iread_at_all) USE(File_iread) USE(File_iread_all) USE(File_iread_shared) \
  USE(File_write_at) USE(File_write_at_all) USE(File_write) USE(File_write_all) USE(File_write_shared) USE(File_write_ordered) \
  USE(File_iwrite_at) USE(File_iwrite_at_all) USE(File_iwrite) USE(File_iwrite_all) USE(File_iwrite_shared) \
  USE(File_read_at_all_begin) USE(File_read_at_all_end) USE(File_read_all_begin) USE(File_read_all_end) \
  USE(File_read_ordered_begin) \
  USE(File_write_at_all_begin) USE(File_write_at_all_end) USE(File_write_all_begin) USE(File_write_all_end) \
  USE(File_write_ordered_begin)
#define DOVETAIL_MPIIO_LARGE_CALLS(USE) \
  USE(File_read_at) USE(File_read_at_all) USE(File_read) USE(File_read_all) USE(File_read_shared) USE(File_read_ordered) \
  USE(File_iread_at) USE(File_iread_at_all) USE(File_iread) USE(File_iread_all) USE(File_iread_shared) \
  USE(File_write_at) USE(File_write_at_all) USE(File_write) USE(File_write_all) USE(File_write_shared) USE(File_write_ordered) \
  USE(File_iwrite_at) USE(File_iwrite_at_all) USE(File_iwrite) USE(File_iwrite_all) USE(File_iwrite_shared) \
  USE(File_read_at_all_begin) USE(File_read_all_begin) USE(File_read_ordered_begin) \
  USE(File_write_at_all_begin) USE(File_write_all_begin) USE(File_write_ordered_begin)
#define DOVETAIL_MPIIO_FUNCTIONS(USE) \
  DOVETAIL_MPIIO_CALLS(USE) \
  USE(Init) USE(Init_thread) USE(Finalize) \
  USE(Comm_create_keyval) USE(Comm_set_attr) USE(Comm_dup) USE(Comm_free) USE(Comm_rank) USE(Comm_size) USE(Allreduce) USE(Allgather) USE(Allgatherv) \
  USE(Info_create) USE(Info_dup) USE(Info_free) USE(Info_get) USE(Info_set) USE(Info_delete) \
  USE(Type_get_envelope) USE(Type_get_contents) USE(Type_get_extent_x) USE(Type_get_true_extent_x) USE(Type_size_x) USE(Type_free) USE(Pack) \
  USE(Get_elements_x) USE(Status_set_elements_x) USE(Status_set_cancelled) USE(Grequest_start) USE(Grequest_complete) \
  USE(Add_error_code) USE(Add_error_string) USE(File_call_errhandler)
// clang-format on

// Names are no expressions.
// NOLINTBEGIN(bugprone-macro-parentheses)
struct Functions {
#define DOVETAIL_MPIIO_DECLARE(name) decltype(PMPI_##name)* name;
  DOVETAIL_MPIIO_FUNCTIONS(DOVETAIL_MPIIO_DECLARE)
#undef DOVETAIL_MPIIO_DECLARE
#if MPI_VERSION >= 4
#define DOVETAIL_MPIIO_DECLARE(name) decltype(PMPI_##name##_c)* name##_c;
  DOVETAIL_MPIIO_LARGE_CALLS(DOVETAIL_MPIIO_DECLARE)
  DOVETAIL_MPIIO_DECLARE(Type_get_envelope)
#undef DOVETAIL_MPIIO_DECLARE
#endif
  explicit Functions(const mpi::Symbols& symbols);
};
// NOLINTEND(bugprone-macro-parentheses)

/// What mpi.h names by an object of the library in Open MPI.
struct Handles {
  MPI_Comm world;
  MPI_Comm self;
  MPI_Comm no_communicator;
  MPI_Datatype byte;
  MPI_Datatype int64;
  MPI_Op largest;
  MPI_File no_file;
  MPI_Info no_info;
  MPI_Datatype no_type;
};

/// Any thread. A process that has no such MPI library is ended with status 2.
const Functions& pmpi();
const Handles& handles();

/// MPICH's way to make an error code with a text; null where a library of that interface has none.
using ErrorMaker = int (*)(int before, int fatal, const char* function, int line, int error_class, const char* usual,
                           const char* format, ...);
ErrorMaker library_error_maker();

}  // namespace dovetail::interpose::mpiio
