// What a recording says about overlap. Private to this room and its tests; programs call `summarize`.
#pragma once

#include "dovetail/trace.hpp"
#include "trace/recorder.hpp"

namespace dovetail::trace {

/// See `Summary` for what is computed.
Summary summarize(const Recording& recording);

}  // namespace dovetail::trace
