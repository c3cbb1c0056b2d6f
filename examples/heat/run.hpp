/// @file
/// One run of the program, from checked options to its report.
#pragma once

#include "options.hpp"

namespace heat {

/// Does what the options ask for. Returns the exit status of the program.
/// @throws BadInput before anything was computed.
int run(const Options& options);

}  // namespace heat
