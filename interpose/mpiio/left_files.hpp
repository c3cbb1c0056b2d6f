// What a job that has ended has left of a file in the tiers: brought into the file, or read where it is.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "hints.hpp"
#include "staging/file_failure.hpp"
#include "staging/undrained_file.hpp"

namespace dovetail::interpose::mpiio {

/// Brings it into the file, and tells of what stays. A tier that is not there has nothing. Blocks. Of this rank alone. @throws std::bad_alloc
/// @param is_removed the file goes, so that it does not matter that a process of the job may still live
staging::FileFailure recover_file(const Hints& hints, const std::string& path, bool is_removed = false);

/// For a file that is opened to be read. Null on all ranks: nothing is left of it, or not all of that can be served to all ranks, such as the logs of other nodes. Then it is recovered instead.
/// Collective.
std::shared_ptr<staging::UndrainedFile> open_undrained(MPI_Comm communicator, const Hints& hints,
                                                       const std::string& path);

}  // namespace dovetail::interpose::mpiio
