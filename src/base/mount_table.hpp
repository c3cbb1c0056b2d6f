// What is mounted, as this process sees it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dovetail::base {

/// A line of /proc/self/mountinfo.
struct Mount {
  std::uint64_t id = 0;
  std::string number = {};  ///< "major:minor"
  std::string root = {};    ///< Which folder of the file system is mounted.
  std::string mount_point = {};
  std::string file_system = {};
  std::string source = {};
  std::string options = {};  ///< Of the mount, then of the file system, with a comma between.
};

/// Reads the text of a mount table. Lines that cannot be understood are left out.
std::vector<Mount> parse_mounts(std::string_view text);
/// The mounts of this process now; empty if the kernel does not tell.
std::vector<Mount> mounts_now();

}  // namespace dovetail::base
