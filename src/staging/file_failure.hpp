// Why a file of the local tier, or the file that it is drained into, could not be read or written.
#pragma once

#include <cstdint>
#include <string>

namespace dovetail::staging {

/// A value; empty where nothing failed. It names the file, the place in it and the errno.
struct FileFailure {
  int error = 0;               ///< An errno; 0: nothing failed. `EBADMSG`: what was read is not what was written.
  const char* operation = "";  ///< What was tried, such as "write".
  std::string path{};
  std::uint64_t offset = 0;  ///< In that file, in bytes.
  std::string why{};         ///< In place of the system's words for the errno; empty: those.
  std::string
      remedy{};  ///< Of a failure that is about no place in the file: what helps. Empty: what helps with such an errno.

  explicit operator bool() const noexcept { return error != 0; }
  /// A sentence that also says what to do. Empty where nothing failed. @throws std::bad_alloc
  std::string text() const;
};

}  // namespace dovetail::staging
