// Bringing what is in the log into the final file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/byte_range.hpp"
#include "staging/file_calls.hpp"
#include "staging/file_failure.hpp"
#include "staging/staged_contents.hpp"
#include "staging/staging_log.hpp"

namespace dovetail::staging {

/// How the final file is written.
struct DrainShape {
  std::size_t stripe_bytes = std::size_t{1}
                             << 20;  ///< Of the final file system. No request has parts of two requests' stripes.
  std::size_t request_bytes = std::size_t{1} << 20;  ///< Most bytes of a request, rounded down to whole stripes.
  /// Most bytes in a second that the drains of this process write together. 0: no limit.
  std::uint64_t bytes_per_second = 0;
};

/// The file that is drained into. The descriptor is the caller's.
struct FinalFile {
  std::string path;
  int descriptor = -1;
};

/// What has to be done to the final file, as it was decided at one instant.
struct DrainPlan {
  struct Piece {
    base::ByteRange range;
    LogPlace place;
  };
  std::vector<Piece> pieces;  ///< By offset; they do not overlap.
  std::uint64_t kept =
      StagedContents::uncut;  ///< The final file has at most so many bytes before the pieces are written.
  std::uint64_t size = 0;     ///< It has at least so many afterwards.
};

/// For all that is staged. `kept` is left as it is. @throws std::bad_alloc
DrainPlan plan_drain(const StagedContents& contents);

/// Its bytes, and its name. Blocks.
FileFailure make_final_durable(FileCalls& calls, const FinalFile& file);

/// Leaves at most so many bytes of it, durably. Blocks.
FileFailure cut_final(FileCalls& calls, const FinalFile& file, std::uint64_t bytes);

/// Does it, and makes it durable. Blocks. The final file can be read and written meanwhile, elsewhere. Doing it again, from the beginning, after a
/// failure or a crash, leads to the same file. Holds `request_bytes` of memory. @throws std::bad_alloc
FileFailure drain_into(FileCalls& calls, const FinalFile& file, const DrainPlan& plan,
                       const StagingLog::Segments& segments, const DrainShape& shape);

}  // namespace dovetail::staging
