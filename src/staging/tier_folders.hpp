// What processes that have ended have left of a file in a tier.
#pragma once

#include <string>
#include <vector>

#include "staging/file_calls.hpp"
#include "staging/file_failure.hpp"
#include "staging/log_folder.hpp"
#include "staging/tier_lock.hpp"
#include "staging/tiered_file.hpp"
#include "staging/writer_folders.hpp"

namespace dovetail::staging {

/// What was found of processes that have ended.
struct WriterRecovery {
  FileFailure
      failure;  ///< Of the first folder that could not be brought into the final file. Those behind it stay: what they hold may be newer.
  std::vector<std::string> recovered;  ///< Folders.
  std::vector<std::string> foreign;    ///< Of other users.
  std::vector<std::string>
      orphans;  ///< Their file is gone, or another one has its name. They are as they were, save for a mark. Also one that was superseded during its drain.
  std::vector<std::string> busy;        ///< Of living processes.
  std::vector<std::string> superseded;  ///< Others have opened the file for writing since. The same.
};
/// What the folders of a file are, found while the caller had the `TierLock`.
struct TakenWriters {
  std::vector<OpenedFolder>
      dead;  ///< Of ended processes, and locked: as long as this lives, no other process takes them.
  std::vector<std::string>
      closing;  ///< Of processes that drain them now, and will let them go: the dead ones may be newer, and wait for them.
  WriterRecovery others;  ///< Folders that are left alone.
};
/// Locks the folders of ended processes. The caller has the `TierLock`, and may let it go before it recovers them. @param also_alone with the folder of a process
/// that writes alone @throws std::bad_alloc
TakenWriters take_writers(const std::string& folder, bool also_alone, FileCalls& calls = FileCalls::system());
/// Brings what is in them into the file, and removes the folders. Blocks. From any thread. @throws std::bad_alloc
WriterRecovery recover_taken(TakenWriters taken, const TierSettings& settings = {});
/// What the process does that had a folder when another one looked.
enum class Holder {
  gone,    ///< It has removed the folder.
  drains,  ///< It brings the log into the file, and will let the folder go.
  stages,  ///< It has the file open.
};
/// Of a folder that the caller has found taken (`EBUSY`). The caller has the `TierLock`. Blocks, for an instant: takes the lock of `lock_marks`.
Holder holder_of(const std::string& folder);
/// If a process drains the folder, it returns when that has let it go. If that process is killed, another one may take the folder to stage the file before the
/// caller wakes up: then it returns when that one lets it go. The caller has no folder of the file. It may have the `TierLock`: a process that drains a marked
/// folder takes the lock of `lock_marks` at most. Blocks.
void wait_if_closed(const std::string& folder);
/// All of it while the caller has the `TierLock`: other openings in the tier wait. Those of living processes are left alone, unless the program has closed the
/// file: it waits for their drains. Blocks. From any thread. @throws std::bad_alloc
WriterRecovery recover_writers(const std::string& folder, const TierSettings& settings = {});

/// What a user has to know: of a folder that was recovered or is left alone, or of a tier with bytes that are not seen here.
std::string text_of_recovered(const std::string& folder, const std::string& path);
std::string text_of_orphan(const std::string& folder, const std::string& path);
std::string text_of_superseded(const std::string& folder, const std::string& path);
std::string text_of_elsewhere(const StagedTier& tier, const std::string& path);

}  // namespace dovetail::staging
