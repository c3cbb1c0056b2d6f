// Limits that the kernel's block I/O controller puts on this process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/mount_table.hpp"

namespace dovetail::device {

/// 0: no limit known.
struct Throttle {
  std::uint64_t read_bytes_per_second = 0;
  std::uint64_t write_bytes_per_second = 0;
  std::uint64_t read_operations_per_second = 0;
  std::uint64_t write_operations_per_second = 0;
  std::string group = {};  ///< Folder of the control group that sets the tightest limit; or empty.
  bool any() const noexcept {
    return (read_bytes_per_second | write_bytes_per_second | read_operations_per_second |
            write_operations_per_second) != 0;
  }
};

/// The limits of the control groups (version 1 or 2) of this process on any of the block devices ("major:minor").
/// @param groups The text of /proc/self/cgroup.
Throttle find_throttle(const std::vector<base::Mount>& mounts, std::string_view groups,
                       const std::vector<std::string>& numbers);

}  // namespace dovetail::device
