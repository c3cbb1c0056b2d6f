// What is done with a folder of the local tier whose process has ended.
#pragma once

#include <cerrno>
#include <optional>
#include <string>
#include <vector>

#include "staging/file_failure.hpp"
#include "staging/log_folder.hpp"
#include "staging/tiered_file.hpp"

namespace dovetail::staging {

struct Recovery {
  FileFailure failure{};
  bool had_something = false;           ///< That was not in the final file, and is there now.
  bool is_superseded = false;           ///< `failure` says so (`ESTALE`), and the folder is as it was.
  std::vector<StagedTier> elsewhere{};  ///< Tiers that may hold other bytes of the file.

  /// Something may be brought into the file later. Otherwise it was, or the log was superseded, or its file is gone.
  bool has_failed() const noexcept {
    return failure && !is_superseded && failure.error != ESTALE && failure.error != ENOENT;
  }
};
/// Brings what was written and not drained into the final file, and removes the folder. Killed in the middle and called again, it leads to the same
/// file. A folder that is not there, or has nothing of a log in it, is no failure. Whether others have changed the size of the file is known from the
/// placement, not from `settings`. Blocks. From any thread. @throws std::bad_alloc
Recovery recover(const std::string& folder, const TierSettings& settings = {});
/// The same of a folder that `take_to_recover` has locked. It needs no other lock than that.
Recovery recover(OpenedFolder taken, const TierSettings& settings);
/// Locks a folder whose process has ended (`EBUSY`: it has not), and marks it if its name is that of a log: a process that looks for what others have
/// left waits for the recovery. `log`: a folder that holds another log, or none, is left as it is (`ENOENT`).
OpenedFolder take_to_recover(const std::string& folder, FileCalls& calls,
                             std::optional<LogIdentity> log = std::nullopt);

/// Removes a log without bringing anything into the final file, which need not be there any more. Killed in the middle, nothing of the log comes back: the
/// process that opens the folder next finishes it. Blocks. From any thread. @throws std::bad_alloc
FileFailure discard(const std::string& folder, FileCalls& calls = FileCalls::system());

/// The folders of staged files that are in a tier: those of a file one behind the other, by number. One of a staged file is its own only one. @throws std::bad_alloc
std::vector<std::string> logs_in(const std::string& tier, FileFailure& failure);

}  // namespace dovetail::staging
