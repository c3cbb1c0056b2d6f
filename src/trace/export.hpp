// The recording as Chrome trace JSON. Private to this room and its tests; programs call `write`.
#pragma once

#include <string>

#include "trace/recorder.hpp"

namespace dovetail::trace {

/// Process 1 has a track for each thread, with slices and sleep. Process 2 has a counter, and as many tracks as requests were ever in flight at
/// once. `otherData` has the summary and the number of lost events.
/// @throws std::system_error naming the file.
void write(const Recording& recording, const std::string& path);

}  // namespace dovetail::trace
