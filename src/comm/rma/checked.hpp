// Results of system calls.
#pragma once

#include <cerrno>
#include <system_error>

namespace dovetail::comm::rma {

/// @returns `result`. @throws std::system_error with `errno` and the name of the call, if it is negative
inline int checked(int result, const char* call) {
  if (result < 0) {
    throw std::system_error(errno, std::generic_category(), call);
  }
  return result;
}

}  // namespace dovetail::comm::rma
