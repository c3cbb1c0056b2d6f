// The folders of a file that several processes write, such as the ranks of a parallel program: each has a log of its own.
#pragma once

#include <string>
#include <vector>

#include "staging/file_failure.hpp"

namespace dovetail::staging {

/// `folder`: that of the file (`folder_of`). `writer`: the number of the process among those that write it, such as its rank.
std::string writer_folder(const std::string& folder, unsigned writer);

/// That of the file, from that of a writer, or itself.
std::string file_folder(const std::string& folder);

/// Whether a folder of that name may be one of either kind: it ends with a checksum, or a checksum and a number.
bool is_name_of_log(const std::string& name);

/// The tier in which it is; without symbolic links, if it is there.
std::string tier_of_log(const std::string& folder);

/// Those that are in the tier now, by number: first that of the file itself, which a process that writes alone has. A tier that is not there has none.
std::vector<std::string> writer_folders(const std::string& folder, FileFailure& failure);

/// The one behind all that are there. The caller has the `TierLock`.
std::string next_writer_folder(const std::string& folder, FileFailure& failure);

/// False: another user's, so that nothing may be done with it. One that is not there would be this user's.
bool is_of_this_user(const std::string& folder);

}  // namespace dovetail::staging
