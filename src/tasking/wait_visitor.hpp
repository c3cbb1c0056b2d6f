// What a source of events tells of each task that waits for it.
#pragma once

#include <functional>
#include <string>

#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

/// Made only when it is printed: what a task waits for, as in "waits for ...".
using WaitText = std::function<std::string()>;
/// Called for each task that waits, which stays meanwhile. The text is valid during the call.
using VisitWait = std::function<void(const detail::Task*, const WaitText&)>;

}  // namespace dovetail::tasking
