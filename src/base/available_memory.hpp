// How much memory can still be had.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/mount_table.hpp"

namespace dovetail::base {

/// Bytes that the machine can give without swapping, or less where a control group of this process allows less. Reads some small files of the
/// kernel, which takes some ten microseconds.
std::uint64_t available_memory();

/// What the control groups of a process leave of their limits, in bytes; the largest number if there is no limit. A page cache counts as taken
/// though it can be had: so an eighth of a limit is always left.
/// @param groups The text of /proc/PID/cgroup.
std::uint64_t memory_left_in_groups(const std::vector<Mount>& mounts, std::string_view groups);

}  // namespace dovetail::base
