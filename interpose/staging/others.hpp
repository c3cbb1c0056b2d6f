// What other processes, living and dead, have staged of a file.
#pragma once

#include <string>

namespace dovetail::interpose::staged {

/// Brings what ended processes have left of it into it, and has living ones do so; waits for those that do not listen until they have closed it. The calling
/// process has nothing of it staged. 0, or an errno: something that was acknowledged is not in the file. Blocks. Any thread.
/// @param path of a file that exists
int settle_others(const std::string& tier, const std::string& path) noexcept;

}  // namespace dovetail::interpose::staged
