// From the options a program gives, the environment and the defaults to the settings in force.
#pragma once

#include <cstddef>

#include "dovetail/options.hpp"

namespace dovetail::tasking {

/// Of `Options::io_executors`.
inline constexpr unsigned default_executors = 64;

/// @throws std::invalid_argument naming the field or variable that makes no sense, and what would.
Options complete_options(const Options& given);

/// What a variable of the environment says; `fallback` if it is not set. @throws std::invalid_argument if that is no number of the range.
std::size_t number_from_environment(const char* variable, std::size_t fallback, std::size_t least, std::size_t most);

}  // namespace dovetail::tasking
