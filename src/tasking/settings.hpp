// From the options a program gives, the environment and the defaults to the settings in force.
#pragma once

#include "dovetail/options.hpp"

namespace dovetail::tasking {

/// Of `Options::io_executors`.
inline constexpr unsigned default_executors = 64;

/// @throws std::invalid_argument naming the field or variable that makes no sense, and what would.
Options complete_options(const Options& given);

}  // namespace dovetail::tasking
