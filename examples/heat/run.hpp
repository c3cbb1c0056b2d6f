/// @file
/// One run of the program, from checked options to its report.
#pragma once

#include <exception>

#include "options.hpp"

namespace heat {

/// Does what the options ask for. Returns the exit status of the program.
/// @throws BadInput before anything was computed.
int run(const Options& options);

/// Tells on standard error what failed, and from which step a run with `--restart` will go on.
void tell_failure(const std::exception& failure, const Options& options);

}  // namespace heat
