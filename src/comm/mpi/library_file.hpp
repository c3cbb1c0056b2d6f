// By which names the file of an MPI library is known. For parts that know nothing else of Dovetail, too: needs the C library alone.
#pragma once

#include <cstddef>
#include <string_view>

namespace dovetail::comm::mpi {

/// Whether the file at `path` is an MPI library, with or without a version in its name: mpi4py loads `libmpi.so`. Not so libmpi_cxx and the like.
/// Debian, and only Debian, calls MPICH's libmpich; the libraries of MVAPICH, Intel and Cray have its binary interface. Cray has one for each compiler, such as
/// libmpi_gnu_123. cmake/DovetailMpi.cmake knows the same names.
inline bool is_library_file(std::string_view path) noexcept {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  if (file.starts_with("libmpi.so") || file.starts_with("libmpich.so")) {
    return true;
  }
  for (const std::string_view compiler : {"cray", "gnu", "intel", "amd", "aocc", "nvidia", "pgi"}) {
    const std::size_t end = file.find_first_not_of("_0123456789", 7 + compiler.size());
    if (file.starts_with("libmpi_") && file.substr(7).starts_with(compiler) && end != file.npos &&
        file.substr(end).starts_with(".so")) {
      return true;
    }
  }
  return false;
}

/// Whether it has the calls of Fortran: those of `mpif.h`, or of the module `mpi_f08`, which Open MPI keeps apart.
inline bool is_fortran_library_file(std::string_view path) noexcept {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  return file.starts_with("libmpichfort") || file.starts_with("libmpifort") || file.starts_with("libmpi_mpifh") ||
         file.starts_with("libmpi_usempif08");
}

}  // namespace dovetail::comm::mpi
