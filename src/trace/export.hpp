// The recording as Chrome trace JSON. Private to this room and its tests; programs call `write`.
#pragma once

#include <string>

#include "trace/recorder.hpp"

namespace dovetail::trace {

/// Process 1 has a track for each thread, with slices and sleep; process 2 has as many tracks as requests were ever in flight
/// at once, and a counter. `otherData` has the summary and what was lost.
/// @throws std::system_error naming the file.
void write(const Recording& recording, const std::string& path);

}  // namespace dovetail::trace
