// How much memory this process may use.
#pragma once

#include <cstdint>
#include <string>

namespace dovetail::hdf5 {

/// Bytes: what the machine has, or less where a control group (version 1 or 2, or one above it) allows less.
std::uint64_t memory_limit();

/// The least limit of the control groups of a process, as `cgroups` (/proc/PID/cgroup) and `mounts` (/proc/PID/mountinfo) name them;
/// the largest number if there is none.
std::uint64_t memory_limit_of_cgroups(const std::string& cgroups, const std::string& mounts);

}  // namespace dovetail::hdf5
