/// @file
/// What becomes of what a program offers to the rings of io_uring.
#pragma once

#include <cstdint>

namespace dovetail {

/// What the rings said that have used an `IoBuffer` or a file opened with `FileOptions::registered`. A ring is told when it first
/// uses it.
enum class Registration : std::uint8_t {
  none,      ///< No ring has used it yet, or it was not to be registered.
  accepted,  ///< Registered with all rings that have used it.
  refused,  ///< Some ring could not have it: an old kernel (before 5.19), `RLIMIT_MEMLOCK`, `RLIMIT_NOFILE`, or too many of them.
            ///< It works there as any other.
};

}  // namespace dovetail
