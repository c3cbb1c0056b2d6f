// The recording as Chrome trace JSON. Private to this room and its tests; programs call `write`.
#pragma once

#include <string>

#include "trace/recorder.hpp"

namespace dovetail::trace {

/// Process 1 has a track for each thread, with slices and sleep. Process 2 has a counter, and as many tracks as requests were ever in flight at
/// once. So has process 3 for messages. Of rank r these are 3 r + 1 to 3 r + 3. Each event is a line. `otherData` has the summary, the number of lost
/// events, and what it takes to put the files of several ranks into one (python/dovetail/trace_join.py).
/// @throws std::system_error naming the file.
void write(const Recording& recording, const std::string& path);

}  // namespace dovetail::trace
