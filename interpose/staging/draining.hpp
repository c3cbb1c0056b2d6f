// The drains of this process.
#pragma once

#include "staging/background_drain.hpp"

namespace dovetail::interpose::staged {

/// Never destroyed. The child of a fork has its own.
dovetail::staging::BackgroundDrain& drains();
/// In the child of a fork.
void forget_drains();

}  // namespace dovetail::interpose::staged
