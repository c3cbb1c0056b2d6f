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
  bool is_placed =
      false;  ///< Its placement is in the folder. Otherwise nothing else is, and nothing may be put there before.
  FileFailure failure;  ///< Damage is none: `replayed` tells of it.

  /// Something in it is not in the final file.
  bool has_changes() const noexcept;
};

/// Locks the folder of a process that will write, which is made if there is none. The mark of an ended one goes: a process that finds the
/// folder taken does not wait for it.
OpenedFolder take_to_write(FileCalls& calls, const std::string& folder);

/// Reads the placement but no segment. `folder`: locked by `take_to_write`, or to be recovered. `expected`: the file that the log must belong to; its `log` is chosen here if there is
/// none yet, and its generation is not looked at. Removes what is left of a log that was discarded. @throws std::bad_alloc
OpenedLog open_log(FileCalls& calls, LogFolder folder, const Placement& expected);

/// Whether all in the log is in the final file, as its newest segment says. No other one is read, however many there are. False also where that cannot be
/// read. @throws std::bad_alloc
bool is_drained(FileCalls& calls, const OpenedLog& log);

/// Removes the segments of a log that does not count any more. Killed in the middle, it is called again by the next opening.
FileFailure remove_segments(FileCalls& calls, const LogFolder& folder);

/// Reads and checks all segments that are in the folder now, and finds out what of them counts. @throws std::bad_alloc
FileFailure read_log(FileCalls& calls, const LogFolder& folder, LogIdentity log, std::vector<FoundSegment>& found,
                     Replay& replayed);

/// The file as it is with what counts. `final_bytes`: the size of the final file. @throws std::bad_alloc
StagedContents contents_of(const Replay& replayed, std::uint64_t final_bytes);

}  // namespace dovetail::staging
