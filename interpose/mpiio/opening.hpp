// Hints from an MPI_Info, and what a configuration adds.
#pragma once

#include <mpi.h>

#include <string>

#include "configuration.hpp"
#include "hints.hpp"

namespace dovetail::interpose::mpiio {

/// Those of these hints that `info` has.
GivenHints hints_of(MPI_Info info);

/// An MPI_Info for the MPI library: without Dovetail's own hints, with those of the configuration that are the library's.
class LibraryInfo {
 public:
  LibraryInfo(MPI_Info given, const FileRule* rule);
  ~LibraryInfo();
  LibraryInfo(const LibraryInfo&) = delete;
  LibraryInfo& operator=(const LibraryInfo&) = delete;
  MPI_Info get() const noexcept { return info_; }

 private:
  MPI_Info info_;
  bool own_ = false;
};

}  // namespace dovetail::interpose::mpiio
