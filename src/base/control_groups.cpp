#include "base/control_groups.hpp"

#include <optional>

#include "base/kernel_files.hpp"

namespace dovetail::base {
namespace {

// The group of a process in one hierarchy, from lines such as "4:memory:/group" of version 1 and "0::/group" of version 2.
std::optional<std::string> group_of(std::string_view groups, std::string_view controller, bool unified) {
  std::optional<std::string> found;
  for_each_line(groups, [&](std::string_view line) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) {
      return;
    }
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (unified ? controllers.empty() : has_word(controllers, controller)) {
      found = line.substr(second + 1);
    }
  });
  return found;
}

// Where the group is below the mount. In a container the mount may show a group of the host as its top.
std::string below(const Mount& mount, const std::string& group) {
  if (mount.root == "/") {
    return group;
  }
  return group.starts_with(mount.root) ? group.substr(mount.root.size()) : std::string();
}

}  // namespace

std::vector<ControlGroup> control_groups(const std::vector<Mount>& mounts, std::string_view groups,
                                         std::string_view controller) {
  std::vector<ControlGroup> found;
  for (const Mount& mount : mounts) {
    const bool unified = mount.file_system == "cgroup2";
    if (!unified && (mount.file_system != "cgroup" || !has_word(mount.options, controller))) {
      continue;
    }
    const std::optional<std::string> group = group_of(groups, controller, unified);
    if (!group) {
      continue;
    }
    std::string path = below(mount, *group);
    while (!path.empty() && path != "/") {
      found.push_back({mount.mount_point + path, unified});
      path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
    found.push_back({mount.mount_point, unified});
  }
  return found;
}

}  // namespace dovetail::base
