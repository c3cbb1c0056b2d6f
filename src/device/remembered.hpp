// What earlier runs found out about devices: a small file in the user's folder of state.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "device/direction.hpp"
#include "device/level.hpp"

namespace dovetail::device {

/// The file: admission.json in $XDG_STATE_HOME/dovetail or ~/.local/state/dovetail. Empty where neither is known.
std::string memory_file();

/// @name What is known of a device
/// Reading never fails. It ignores a file that is damaged, of another version, larger than 4 MiB, another user's, or no regular file. It
/// then warns once in each process, on standard error. No link is followed, and a file that is not the user's is not replaced. Writing
/// puts one device's entry into what the file then holds, under a lock that goes with the process. So runs at the same time lose nothing.
/// It replaces the file in one step, so a crash leaves the old file or the new one. False: not written, because another process holds the
/// lock, the file is another user's or the folder cannot be written.
/// @{

/// How many tasks at once gave most, and what; a rate of 0 has no meaning in another run. `at_once` 0: not known.
Level recall_level(const std::string& device);
bool remember_level(const std::string& device, const Level& level);
/// What was measured, by depth in ascending order; empty: nothing.
std::vector<Level> recall_curve(const std::string& device, Direction direction);
bool remember_curve(const std::string& device, Direction direction, std::span<const Level> curve);
/// @}

}  // namespace dovetail::device
