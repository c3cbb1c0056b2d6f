// How functions of this room fail: `std::system_error` with what was tried, on which path, and where in it.
#pragma once

#include <cerrno>
#include <cstdint>
#include <string>
#include <system_error>

#include "base/zero_byte.hpp"

namespace dovetail::device {

/// @param length Bytes that were asked for at `offset`; 0: the operation has no place in the file.
[[noreturn]] inline void fail(int error, const std::string& operation, const std::string& path,
                              std::uint64_t offset = 0, std::uint64_t length = 0) {
  std::string text = operation + " of '" + path + "'";
  if (length > 0) {
    text += " at offset " + std::to_string(offset) + " (" + std::to_string(length) + " bytes)";
  }
  throw std::system_error(error, std::system_category(), text);
}

/// Fails for a path of which the system would see only a part.
inline void require_whole_path(const std::string& path, const char* operation) {
  if (base::has_zero_byte(path)) {
    fail(EINVAL, std::string(operation) + " (a path must not contain a zero byte)", base::show_zero_bytes(path));
  }
}

}  // namespace dovetail::device
