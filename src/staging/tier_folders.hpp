// What processes that have ended have left of a file in a tier.
#pragma once

#include <string>
#include <vector>

#include "staging/file_failure.hpp"
#include "staging/tier_lock.hpp"
#include "staging/tiered_file.hpp"
#include "staging/writer_folders.hpp"

namespace dovetail::staging {

/// What was found of processes that have ended.
struct WriterRecovery {
  FileFailure failure;  ///< Of the first folder that could not be brought into the final file. The others were tried.
  std::vector<std::string> recovered;   ///< Folders.
  std::vector<std::string> foreign;     ///< Of other users.
  std::vector<std::string> orphans;     ///< Their file is gone, or another one has its name. They are as they were.
  std::vector<std::string> busy;        ///< Of living processes.
  std::vector<std::string> superseded;  ///< Others have opened the file for writing since. They are as they were.
};
/// Brings what ended processes have left of the file into it, and removes their folders. Those of living processes are left alone, unless the program has closed the
/// file: it waits for their drains. The caller has the `TierLock`. Blocks. From any thread. @throws std::bad_alloc
WriterRecovery recover_writers(const std::string& folder, const TierSettings& settings = {});
/// The same, without the folder of a process that writes alone.
WriterRecovery recover_ranks(const std::string& folder, const TierSettings& settings = {});

/// What a user has to know of a folder that was recovered or is left alone, and of a tier that has what is not seen here.
std::string text_of_recovered(const std::string& folder, const std::string& path);
std::string text_of_orphan(const std::string& folder, const std::string& path);
std::string text_of_superseded(const std::string& folder, const std::string& path);
std::string text_of_elsewhere(const StagedTier& tier, const std::string& path);

}  // namespace dovetail::staging
