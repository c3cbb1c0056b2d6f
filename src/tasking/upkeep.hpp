// What the reactor does for the runtime beside the time and the descriptors.
#pragma once

#include "tasking/reactor.hpp"

namespace dovetail::tasking {

Reactor::Duties duties_of_reactor() noexcept;

}  // namespace dovetail::tasking
