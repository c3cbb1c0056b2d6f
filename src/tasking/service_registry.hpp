// The kinds of service that a new runtime gets.
#pragma once

#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

/// Makes one service of each registered kind for a runtime whose options are complete.
void make_services(detail::RuntimeCore& core);

}  // namespace dovetail::tasking
