/// @file
/// Turns a failed task into words: which task, which file, where, why, and what to do.
#pragma once

#include <optional>
#include <string>

#include "dovetail/dovetail.hpp"

namespace heat {

/// Where a chain of failures began.
struct RootCause {
  std::string label;  ///< The task that failed, not those that were cancelled because of it.
  std::string text;   ///< What happened, with file, offset and errno if it was I/O.
  std::string advice;
};

/// Follows nested causes to the first.
RootCause root_cause(const std::exception& failure);

/// Waits for what is left in the runtime and drops its failures, of which the first has been taken already.
void drain(dovetail::Runtime& runtime);

}  // namespace heat
