// The kinds of service that a new runtime gets.
#pragma once

#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

/// Makes one service of each registered kind for a runtime whose options are complete.
void make_services(detail::RuntimeCore& core);
/// Calls the hook of `register_cancel_hook`. `core` may be gone: it is only a name.
void tell_cancelled(const detail::RuntimeCore* core) noexcept;

}  // namespace dovetail::tasking
