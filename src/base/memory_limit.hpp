// How much memory this process may use.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/mount_table.hpp"

namespace dovetail::base {

/// Bytes: what the machine has, or less where a control group (version 1 or 2, or one above it) allows less.
std::uint64_t memory_limit();

/// The least limit, in bytes, of the control groups of a process; the largest number if there is none.
/// @param groups The text of /proc/PID/cgroup.
std::uint64_t memory_limit_of_groups(const std::vector<Mount>& mounts, std::string_view groups);

}  // namespace dovetail::base
