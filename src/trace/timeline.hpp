// From events to what they mean: slices of tasks, sleep of workers, requests in flight, and messages.
#pragma once

#include "trace/recorder.hpp"
#include "trace/timeline_visitor.hpp"

namespace dovetail::trace {

/// Goes through the recording in the order of time. Takes memory for what is going on at one instant only.
void replay(const Recording& recording, TimelineVisitor& visitor);

/// When the oldest event of a thread happened that lost older ones; else 0.
Time known_since(const Recording& recording, const ThreadEvents& thread);

}  // namespace dovetail::trace
