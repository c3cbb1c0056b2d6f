#pragma once

#include <cerrno>
#include <string>

#include "base/zero_byte.hpp"
#include "dovetail/failure.hpp"

namespace dovetail::storage {

/// @throws IoError (EINVAL) for a path of which the operating system would see only a part.
inline void require_whole_path(const std::string& path, const char* operation) {
  if (base::has_zero_byte(path)) {
    throw IoError(EINVAL, std::string(operation) + " (a path must not contain a zero byte)",
                  base::show_zero_bytes(path), 0, 0);
  }
}

}  // namespace dovetail::storage
