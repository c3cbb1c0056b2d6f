// What is kept of an error for the C caller to ask for.
#pragma once

#include <cstdint>
#include <exception>
#include <string>

namespace dovetail::c {

/// The last error of a task or thread, in the words of `dovetail.h`.
struct Error {
  std::int32_t code = 0;
  std::int32_t kind = 0;
  std::int32_t mpi_code = 0;  ///< Of MPI; 0: it is no error of MPI.
  std::int32_t rank = -1;     ///< Of the process that has ended; -1: it is no such error.
  std::int64_t offset = -1;
  std::int64_t length = -1;
  std::string message;
  std::string label;
  std::string operation;
  std::string path;
  std::exception_ptr cause;
};

}  // namespace dovetail::c
