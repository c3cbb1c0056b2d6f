// What a folder of the local tier holds, for a look that changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "staging/file_calls.hpp"
#include "staging/file_failure.hpp"
#include "staging/placement.hpp"

namespace dovetail::staging {

/// Sizes are in bytes.
struct Inspection {
  std::optional<Placement> placement;  ///< Nothing: no process has used the folder yet.
  std::size_t segments = 0;
  std::uint64_t log_bytes = 0;     ///< Of the segments, on the tier.
  std::uint64_t torn_bytes = 0;    ///< Of that: behind the last whole record of a segment.
  std::uint64_t staged_bytes = 0;  ///< Of the file: not drained yet.
  std::size_t extents = 0;         ///< In so many pieces.
  std::uint64_t records = 0;       ///< That are not drained.
  bool is_half_drained =
      false;  ///< The final file has a part of what a drain was bringing there, which only the next opening takes away.
  bool is_superseded =
      false;  ///< Others have opened the final file for writing since; false also where that cannot be read.
  bool has_marks = true;  ///< False: the file system of the final file cannot keep what would tell that.
  FileFailure damage;     ///< Records that were durable are missing or changed.
  FileFailure failure;    ///< It cannot be read.
};

/// Reads and checks all of the log, and changes nothing. The process that has the folder may go on meanwhile; a segment that it removes at that moment
/// is a failure (`ENOENT`). Blocks. From any thread. @throws std::bad_alloc
Inspection inspect(const std::string& folder, FileCalls& calls = FileCalls::system());

}  // namespace dovetail::staging
