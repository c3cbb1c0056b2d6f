// What is done with a folder of the local tier whose process has ended.
#pragma once

#include <string>
#include <vector>

#include "staging/file_failure.hpp"
#include "staging/tiered_file.hpp"

namespace dovetail::staging {

/// Brings what was written and not drained into the final file, and removes the folder. Killed in the middle and called again, it leads to the same
/// file. A folder that is not there, or has nothing of a log in it, is no failure. One that was
/// superseded is (`ESTALE`), and stays as it is. Blocks. From any thread. @param elsewhere unless null: tiers that may hold other bytes of the file, which this has
/// superseded if it went `over_newer` @throws std::bad_alloc
FileFailure recover(const std::string& folder, const TierSettings& settings = {},
                    std::vector<StagedTier>* elsewhere = nullptr);

/// Removes a log without bringing anything into the final file, which need not be there any more. Killed in the middle, nothing of the log comes back: whoever
/// opens the folder next finishes it. Blocks. From any thread. @throws std::bad_alloc
FileFailure discard(const std::string& folder, FileCalls& calls = FileCalls::system());

/// The folders of staged files that are in a tier, by name. One of a staged file is its own only one. @throws std::bad_alloc
std::vector<std::string> logs_in(const std::string& tier, FileFailure& failure);

}  // namespace dovetail::staging
