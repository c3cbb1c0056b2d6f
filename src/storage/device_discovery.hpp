// What the kernel's own tables say about a device: pieces of `Device::of`, apart so that tests can feed them with text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dovetail/device.hpp"

namespace dovetail::storage {

/// A line of /proc/self/mountinfo.
struct Mount {
  std::uint64_t id = 0;
  std::string number;  ///< "major:minor"
  std::string root;    ///< Which folder of the file system is mounted.
  std::string mount_point;
  std::string file_system;
  std::string source;
  std::string options;  ///< Of the mount, then of the file system, with a comma between.
};

/// Reads the text of a mount table; lines that cannot be understood are left out.
std::vector<Mount> parse_mounts(std::string_view text);
/// Whether the comma-separated list has this word.
bool has_word(std::string_view list, std::string_view word, char separator = ',') noexcept;

bool keeps_files_in_memory(std::string_view file_system) noexcept;
bool is_on_network(std::string_view file_system) noexcept;
bool is_in_user_space(std::string_view file_system) noexcept;

/// The first line of a small file; empty if it cannot be read.
std::string first_line(const std::string& path);
/// All of a file; empty if it cannot be read.
std::string whole_file(const std::string& path);

/// The limits that the control groups of this process put on any of the block devices ("major:minor").
/// @param mounts Where the controllers are mounted.
/// @param groups The text of /proc/self/cgroup.
Throttle find_throttle(const std::vector<Mount>& mounts, std::string_view groups,
                       const std::vector<std::string>& numbers);

}  // namespace dovetail::storage
