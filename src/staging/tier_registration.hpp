// Keeping what a final file says of a tier true, while several processes come and go.
#pragma once

#include <string>

#include "staging/file_failure.hpp"
#include "staging/final_mark.hpp"

namespace dovetail::staging {

/// Before anything is put into the log `folder`. Blocks while another process does the same. @throws std::bad_alloc
FileFailure register_log(const MarkedFile& file, const Generation& generation, const std::string& folder,
                         bool is_closed = false);

/// Nothing is in the log any more, and its folder is about to go: the last one of that generation in the tier takes the tier's name off the file. Blocks while
/// another process does the same. @throws std::bad_alloc
FileFailure unregister_log(const MarkedFile& file, const Generation& generation, const std::string& folder);

}  // namespace dovetail::staging
