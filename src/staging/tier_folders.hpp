// A file that several processes write, such as the ranks of a parallel program: each has a log of its own, in a folder of its own.
#pragma once

#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "staging/file_failure.hpp"
#include "staging/tiered_file.hpp"

namespace dovetail::staging {

/// `folder`: that of the file (`folder_of`). `writer`: the number of the process among those that write it, such as its rank.
std::string writer_folder(const std::string& folder, unsigned writer);

/// Those that are in the tier now, by number: first that of the file itself, which a process that writes alone has. A tier that is not there has none.
std::vector<std::string> writer_folders(const std::string& folder, FileFailure& failure);

/// The one behind all that are there. The caller has the `TierLock`.
std::string next_writer_folder(const std::string& folder, FileFailure& failure);

/// False: another user's, so that nothing may be done with it. One that is not there would be this user's.
bool is_of_this_user(const std::string& folder);

/// What was found of processes that have ended.
struct WriterRecovery {
  FileFailure failure;  ///< Of the first folder that could not be brought into the final file. The others were tried.
  std::vector<std::string> recovered;  ///< Folders.
  std::vector<std::string> foreign;    ///< Of other users.
  std::vector<std::string> orphans;    ///< Their file is gone, or another one has its name. They are as they were.
};
/// Brings what ended processes have left of the file into it, and removes their folders. Those of living processes, and those with nothing that
/// is not drained, are left alone. The caller has the `TierLock`. Blocks. From any thread. @throws std::bad_alloc
WriterRecovery recover_writers(const std::string& folder, const TierSettings& settings = {});

/// Held by one process of this user at a time: while it recovers what others have left, or makes its folder, so that none takes the folder
/// that another one is about to open. Released by its destructor.
struct TierLock {
  base::Descriptor descriptor{-1};
  FileFailure failure;
};
/// `tier`: a folder. Blocks until no other process has it.
TierLock lock_tier(const std::string& tier);

}  // namespace dovetail::staging
