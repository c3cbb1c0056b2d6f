#include "memory_limit.hpp"

#include <sys/sysinfo.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace dovetail::hdf5 {
namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

// Of a group; a word such as "max" and a file that is not there set no limit.
std::uint64_t limit_in(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::uint64_t bytes = 0;
  if (!(file >> text) || std::from_chars(text.data(), text.data() + text.size(), bytes).ec != std::errc{}) {
    return no_limit;
  }
  return bytes;
}

struct Hierarchy {
  std::string root;   // the group that is mounted
  std::string mount;  // where
  bool second = false;
};

// Lines such as "36 35 0:30 /root /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory".
std::vector<Hierarchy> hierarchies(const std::string& mounts) {
  std::vector<Hierarchy> found;
  std::ifstream file(mounts);
  for (std::string line; std::getline(file, line);) {
    const std::size_t separator = line.find(" - ");
    if (separator == std::string::npos) {
      continue;
    }
    Hierarchy hierarchy;
    std::string word;
    std::istringstream(line) >> word >> word >> word >> hierarchy.root >> hierarchy.mount;
    std::string type;
    std::string options;
    std::istringstream(line.substr(separator + 3)) >> type >> word >> options;
    hierarchy.second = type == "cgroup2";
    const bool of_memory = ("," + options + ",").find(",memory,") != std::string::npos;
    if (hierarchy.second || (type == "cgroup" && of_memory)) {
      found.push_back(std::move(hierarchy));
    }
  }
  return found;
}

// Where the group is below the mount; nothing if it is outside of what is mounted.
std::string below(const Hierarchy& hierarchy, const std::string& group) {
  if (hierarchy.root == "/") {
    return group;
  }
  return group.starts_with(hierarchy.root) ? group.substr(hierarchy.root.size()) : std::string();
}

std::uint64_t limit_of(const Hierarchy& hierarchy, const std::string& group) {
  std::uint64_t least = no_limit;
  std::string path = below(hierarchy, group);
  for (;;) {
    const std::string folder = hierarchy.mount + path;
    for (const char* name : {"memory.max", "memory.high", "memory.limit_in_bytes"}) {
      least = std::min(least, limit_in(folder + '/' + name));
    }
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) {
      return least;
    }
    path.resize(slash);
  }
}

}  // namespace

// Lines such as "4:memory:/group" of version 1 and "0::/group" of version 2.
std::uint64_t memory_limit_of_cgroups(const std::string& cgroups, const std::string& mounts) {
  const std::vector<Hierarchy> mounted = hierarchies(mounts);
  std::uint64_t least = no_limit;
  std::ifstream file(cgroups);
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) {
      continue;
    }
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool unified = controllers == ",,";
    if (!unified && controllers.find(",memory,") == std::string::npos) {
      continue;
    }
    for (const Hierarchy& hierarchy : mounted) {
      if (hierarchy.second == unified) {
        least = std::min(least, limit_of(hierarchy, line.substr(second + 1)));
      }
    }
  }
  return least;
}

std::uint64_t memory_limit() {
  struct sysinfo machine{};
  const std::uint64_t memory =
      sysinfo(&machine) == 0 ? std::uint64_t{machine.totalram} * machine.mem_unit : std::uint64_t{2} << 30;
  return std::min(memory, memory_limit_of_cgroups("/proc/self/cgroup", "/proc/self/mountinfo"));
}

}  // namespace dovetail::hdf5
