// What ended processes have left of a file in a tier, found and checked as a recovery does, and left where it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "staging/file_calls.hpp"
#include "staging/file_failure.hpp"
#include "staging/log_place.hpp"
#include "staging/placement.hpp"

namespace dovetail::staging {

/// A log as its placement tells of it.
struct LeftLog {
  std::string folder;
  LogIdentity log = 0;  ///< 0: it has no placement.
  Generation generation{};
};
/// Of a file, by its folder in the tier (`folder_of`), in the order in which a recovery brings them into it: where they have the same bytes of the file, the last one
/// counts. Reads no segments. One that cannot be read has no placement. @throws std::bad_alloc
std::vector<LeftLog> find_left_logs(const std::string& folder, FileFailure& failure);

/// Whether a process of the opening that has left one of them has not ended (`EBUSY`). If the others were brought into the file first, what it has would come
/// over what is newer, and a reader would miss it.
/// Left out are openings of `own_job`, which may have the file open twice, what was superseded, and processes that drain what they have. The caller has the `TierLock`. @throws std::bad_alloc
FileFailure objection_to_half_ended(const std::vector<LeftLog>& logs, const std::string& final_path,
                                    std::uint64_t own_job, FileCalls& calls = FileCalls::system());

/// Where the newest bytes are. Both parts can be copied as they are to processes that have found the same logs.
struct LeftIndex {
  struct Segment {
    std::uint32_t log = 0;     ///< An index of what `find_left_logs` has found.
    std::uint32_t number = 0;  ///< In that log.
  };
  struct Extent {
    std::uint64_t begin = 0;  ///< In the file.
    std::uint64_t end = 0;
    LogPlace place{};  ///< Its segment is an index of `segments`.
  };
  std::vector<Segment> segments;
  std::vector<Extent> extents;  ///< By first byte; they do not overlap.
};

struct LeftContents {
  /// Something cannot be served from where it is, which a recovery brings into the file, waits for, or tells of: `failure` says what.
  FileFailure failure{};
  LeftIndex index{};
  std::vector<std::string>
      superseded{};  ///< Folders of which nothing is in the index: others have opened the file for writing since.
};
/// Some of the logs that were found, for one of several processes that read them together.
struct LeftShare {
  std::size_t begin = 0;
  std::size_t end = SIZE_MAX;  ///< Behind the last one.
};
/// Reads and checks those logs. Each must be one of an ended process, and of this file and user. A log that is changed where it was durable, sets sizes, or has
/// a drain that must be undone, is a failure. The caller, or one of those that read the others, has the `TierLock`. Blocks. From any thread. @throws std::bad_alloc
LeftContents read_left_logs(const std::vector<LeftLog>& logs, const std::string& final_path, LeftShare share = {},
                            FileCalls& calls = FileCalls::system());

}  // namespace dovetail::staging
