// What is done with a folder of the local tier whose process has ended.
#pragma once

#include <string>

#include "staging/file_failure.hpp"
#include "staging/tiered_file.hpp"

namespace dovetail::staging {

/// Brings what was written and not drained into the final file, and removes the folder. Killed in the middle and called again, it leads to the same
/// file. A folder that is not there, or has nothing of a log in it, is no failure. Blocks. From any thread. @throws std::bad_alloc
FileFailure recover(const std::string& folder, const TierSettings& settings = {});

}  // namespace dovetail::staging
