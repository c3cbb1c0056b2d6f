// Reading and writing a staged file.
#pragma once

#include <mpi.h>

#include "rank_file.hpp"

namespace dovetail::interpose::mpiio {

/// `count` elements of a data type in memory.
struct Memory {
  void* address = nullptr;  ///< Writes do not change what is there.
  MPI_Count count = 0;
  MPI_Datatype type{};
};

/// How a call has ended.
struct Transferred {
  int code = MPI_SUCCESS;
  std::uint64_t bytes = 0;
};

/// At an offset, which counts elements of the view. An error has been told to the file's error handler.
Transferred write_at(RankFile& staged, MPI_File file, MPI_Offset offset, const Memory& memory);
Transferred read_at(RankFile& staged, MPI_File file, MPI_Offset offset, const Memory& memory);
/// The same of all ranks. Those exchange something only where the order of their writes must stay (format_library.hpp).
Transferred write_at_all(RankFile& staged, MPI_File file, MPI_Offset offset, const Memory& memory);
/// At the individual pointer, which the MPI library keeps, and which is moved.
Transferred write_at_pointer(RankFile& staged, MPI_File file, const Memory& memory);
Transferred write_all_at_pointer(RankFile& staged, MPI_File file, const Memory& memory);
Transferred read_at_pointer(RankFile& staged, MPI_File file, const Memory& memory);

/// Before a collective read: drains on all ranks where they may read what others have staged (format_library.hpp). `is_staged`: some rank still has
/// something staged. If none has, the read is the MPI library's. Returns an error code. Collective.
int settle_before_read(RankFile& staged, MPI_File file, bool& is_staged);

/// What a call with a status returns.
int tell_status(const Transferred& outcome, MPI_Status* status);
/// What a call with a request returns: one that has ended.
int tell_request(const Transferred& outcome, MPI_Request* request);

}  // namespace dovetail::interpose::mpiio
