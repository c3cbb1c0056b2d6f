// Attempts made by plain, blocking system calls.
#pragma once

#include <cstdint>

#include "storage/request.hpp"

namespace dovetail::storage {

/// Performs the planned attempt. Blocks. Returns what the system call returned, or a negative errno.
std::int64_t call_system(const Request& request) noexcept;

/// Performs the whole request on the calling thread. Blocks.
void call_to_end(Request& request) noexcept;

}  // namespace dovetail::storage
