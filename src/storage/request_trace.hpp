// What the trace says of a request.
#pragma once

#include "storage/request.hpp"

namespace dovetail::storage {

/// @name Around the time that a request is under way. They cost nothing while no trace is recorded.
/// @{
void trace_begin(const Request& request) noexcept;
void trace_end(const Request& request) noexcept;
/// @}

}  // namespace dovetail::storage
