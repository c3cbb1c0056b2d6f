// Failures of staging as MPI tells of them.
#pragma once

#include <mpi.h>

#include <string>

#include "staging/file_failure.hpp"

namespace dovetail::interpose::mpiio {

/// A code of that class, whose text is `why` until the next failure of the class. Goes to the error handler of the file, which may end the
/// program, and is returned if it does not. Any thread.
int fail(MPI_File file, int error_class, const std::string& why);

/// "dovetail: " and the sentence, on standard error.
void tell(const std::string& sentence) noexcept;

/// What a user has to know of a drain that has failed: the bytes are not lost.
std::string text_of_drain(const staging::FileFailure& failure, const std::string& path, const std::string& folder);

}  // namespace dovetail::interpose::mpiio
