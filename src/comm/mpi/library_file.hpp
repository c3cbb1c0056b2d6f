// By which names the file of an MPI library is known. For parts that know nothing else of Dovetail, too: needs the C library alone.
#pragma once

#include <string_view>

namespace dovetail::comm::mpi {

/// Whether the file at `path` is an MPI library, with or without a version in its name: mpi4py loads `libmpi.so`. Not so libmpi_cxx and the like.
/// Debian, and only Debian, calls MPICH's libmpich; the libraries of MVAPICH, Intel and Cray have its binary interface.
inline bool is_library_file(std::string_view path) noexcept {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return file.starts_with("libmpi.so") || file.starts_with("libmpich.so") || file.starts_with("libmpi_cray.so");
}

/// Whether it has the calls of Fortran: those of `mpif.h`, or of the module `mpi_f08`, which Open MPI keeps apart.
inline bool is_fortran_library_file(std::string_view path) noexcept {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return file.starts_with("libmpichfort") || file.starts_with("libmpifort") || file.starts_with("libmpi_mpifh") ||
         file.starts_with("libmpi_usempif08");
}

}  // namespace dovetail::comm::mpi
