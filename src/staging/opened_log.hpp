// Opening the log of a file: a new one, or what a process has left.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "staging/file_calls.hpp"
#include "staging/file_failure.hpp"
#include "staging/log_folder.hpp"
#include "staging/log_replay.hpp"
#include "staging/placement.hpp"
#include "staging/staged_contents.hpp"

namespace dovetail::staging {

struct OpenedLog {
  LogFolder folder;
  Placement placement;
  std::vector<FoundSegment> found;
  Replay replayed;
  FileFailure failure;  ///< Damage is none: `replayed` tells of it.
};

/// `expected`: the file that the log must belong to; its `log` is chosen here if there is none yet. @throws std::bad_alloc
OpenedLog open_log(FileCalls& calls, const std::string& folder, const Placement& expected);

/// Reads and checks the segments that are in the folder now, and finds out what of them counts. @throws std::bad_alloc
FileFailure read_log(FileCalls& calls, const LogFolder& folder, LogIdentity log, std::vector<FoundSegment>& found,
                     Replay& replayed);

/// The file as it is with what counts. `final_bytes`: the size of the final file. @throws std::bad_alloc
StagedContents contents_of(const Replay& replayed, std::uint64_t final_bytes);

}  // namespace dovetail::staging
