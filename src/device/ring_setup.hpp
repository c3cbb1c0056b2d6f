// How this process gets a ring of io_uring: the same way for engines, probes and measurements.
#pragma once

#include <liburing.h>

#include <string>

namespace dovetail::device {

inline constexpr unsigned ring_submission_entries = 256;
inline constexpr unsigned ring_completion_entries = 4096;

/// Sets up a ring as the engine `uring` uses it. Empty, or why there is none: what the kernel said, what that means, and what to do.
/// On failure there is nothing to free.
std::string set_up_ring(io_uring& ring);
/// What an errno of io_uring_setup means here, and what to do.
std::string explain_ring_failure(int error);
/// Whether a system call filter is on this process.
bool is_filtered();

}  // namespace dovetail::device
