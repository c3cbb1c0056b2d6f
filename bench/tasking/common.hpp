// What the Dovetail side of every tasking benchmark shares.
#pragma once

#include <dovetail/dovetail.hpp>

#include "harness/harness.hpp"

namespace bench {

/// Settings of the runtime under test: all defaults, save for the number of workers.
inline dovetail::Options runtime_options(const CommandLine& command_line) {
  return dovetail::Options{.workers = static_cast<unsigned>(command_line.workers())};
}

}  // namespace bench
