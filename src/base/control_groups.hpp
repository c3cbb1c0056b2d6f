// The control groups of this process, in which the kernel keeps the limits that hold for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/mount_table.hpp"

namespace dovetail::base {

/// A folder of files with the limits of one group.
struct ControlGroup {
  std::string folder;
  bool unified = false;  ///< Of version 2, in which one group has all controllers.
};

/// The groups that limit a process by a controller ("memory", "blkio"): its own, and those above it up to the top of what is mounted.
/// A limit of any of them holds.
/// @param groups The text of /proc/PID/cgroup.
std::vector<ControlGroup> control_groups(const std::vector<Mount>& mounts, std::string_view groups,
                                         std::string_view controller);

}  // namespace dovetail::base
