// Failures of staging as MPI tells of them.
#pragma once

#include <mpi.h>

#include <exception>
#include <new>
#include <string>

#include "staging/file_failure.hpp"

namespace dovetail::interpose::mpiio {

/// A code of that class, whose text is `why` until the next failure of the class. Goes to the error handler of the file, which may end the
/// program, and is returned if it does not. Any thread.
int fail(MPI_File file, int error_class, const std::string& why);

/// The same for an exception that must not leave a call of MPI. To be called where it is caught.
int fail_of_exception(MPI_File file) noexcept;

/// Of a rank that goes on with others: a failure of theirs is waited for, an exception would leave them waiting. To be called where it is caught.
staging::FileFailure failure_of_exception(const char* operation) noexcept;

/// A call of MPI, as its caller in C sees it: what is thrown goes to the error handler of the file.
template <class Call>
int without_exceptions(MPI_File file, const Call& call) noexcept {
  try {
    return call();
  } catch (...) {
    return fail_of_exception(file);
  }
}

/// What one rank does by itself between collective calls.
template <class Act>
staging::FileFailure without_exceptions(const char* operation, const Act& act) noexcept {
  try {
    return act();
  } catch (...) {
    return failure_of_exception(operation);
  }
}

/// "dovetail: " and the sentence, on standard error.
void tell(const std::string& sentence) noexcept;

/// What a user has to know of a drain that has failed: the bytes are not lost.
std::string text_of_drain(const staging::FileFailure& failure, const std::string& path, const std::string& folder);

}  // namespace dovetail::interpose::mpiio
