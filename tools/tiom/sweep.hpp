/// @file
/// Every combination, one after the other, each in a process of its own.
#pragma once

#include "options.hpp"

namespace dovetail::tiom {

/// Begins the sweep that `command` describes, or goes on with the one in `command.resume`; draws the maps at the end.
/// @returns the exit status of the program: 0, 1 if points could not be measured, 130 if it was interrupted.
/// @throws UsageError and std::invalid_argument for a command that cannot be obeyed; IoError; std::runtime_error.
int run_sweep(const Command& command);

}  // namespace dovetail::tiom
