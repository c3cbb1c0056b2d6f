#include <charconv>
#include <utility>

#include "storage/device_discovery.hpp"

namespace dovetail::storage {
namespace {

// Calls `line` with each line of a text.
template <class Use>
void for_each_line(std::string_view text, Use&& use) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    use(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

// The group of this process in one hierarchy; the controller is empty for version 2.
std::string own_group(std::string_view groups, std::string_view controller) {
  std::string found;
  for_each_line(groups, [&](std::string_view line) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) {
      return;
    }
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : has_word(controllers, controller)) {
      found = line.substr(second + 1);
    }
  });
  return found;
}

// From the group of this process up to the top of what is mounted.
std::vector<std::string> folders_of(const Mount& mount, std::string group) {
  // In a container, the mount may show a group of the host as its top.
  if (mount.root != "/" && group.starts_with(mount.root)) {
    group.erase(0, mount.root.size());
  }
  std::vector<std::string> folders;
  while (!group.empty() && group != "/") {
    folders.push_back(mount.mount_point + (group.starts_with('/') ? "" : "/") + group);
    const std::size_t slash = group.rfind('/');
    group.erase(slash == std::string::npos ? 0 : slash);
  }
  folders.push_back(mount.mount_point);
  return folders;
}

std::uint64_t number_in(std::string_view text) noexcept {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;  // "max" is 0, which stands for no limit
}

void tighten(std::uint64_t& limit, std::uint64_t value, const std::string& folder, Throttle& throttle) {
  if (value != 0 && (limit == 0 || value < limit)) {
    limit = value;
    throttle.group = folder;
  }
}

bool is_of(std::string_view line, const std::vector<std::string>& numbers, std::string_view& rest) noexcept {
  for (const std::string& number : numbers) {
    if (line.starts_with(number) && line.size() > number.size() && line[number.size()] == ' ') {
      rest = line.substr(number.size() + 1);
      return true;
    }
  }
  return false;
}

void read_version_one(const std::string& folder, const std::vector<std::string>& numbers, Throttle& throttle) {
  const std::pair<const char*, std::uint64_t*> files[] = {
      {"read_bps", &throttle.read_bytes_per_second},
      {"write_bps", &throttle.write_bytes_per_second},
      {"read_iops", &throttle.read_operations_per_second},
      {"write_iops", &throttle.write_operations_per_second},
  };
  for (const auto& [name, limit] : files) {
    for_each_line(whole_file(folder + "/blkio.throttle." + name + "_device"), [&](std::string_view line) {
      std::string_view rest;
      if (is_of(line, numbers, rest)) {
        tighten(*limit, number_in(rest), folder, throttle);
      }
    });
  }
}

void read_version_two(const std::string& folder, const std::vector<std::string>& numbers, Throttle& throttle) {
  const std::pair<std::string_view, std::uint64_t*> keys[] = {
      {"rbps=", &throttle.read_bytes_per_second},
      {"wbps=", &throttle.write_bytes_per_second},
      {"riops=", &throttle.read_operations_per_second},
      {"wiops=", &throttle.write_operations_per_second},
  };
  for_each_line(whole_file(folder + "/io.max"), [&](std::string_view line) {
    std::string_view rest;
    if (!is_of(line, numbers, rest)) {
      return;
    }
    while (!rest.empty()) {
      const std::size_t end = rest.find(' ');
      const std::string_view word = rest.substr(0, end);
      for (const auto& [key, limit] : keys) {
        if (word.starts_with(key)) {
          tighten(*limit, number_in(word.substr(key.size())), folder, throttle);
        }
      }
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
  });
}

}  // namespace

Throttle find_throttle(const std::vector<Mount>& mounts, std::string_view groups,
                       const std::vector<std::string>& numbers) {
  Throttle throttle;
  for (const Mount& mount : mounts) {
    const bool one = mount.file_system == "cgroup" && has_word(mount.options, "blkio");
    if (!one && mount.file_system != "cgroup2") {
      continue;
    }
    for (const std::string& folder : folders_of(mount, own_group(groups, one ? "blkio" : ""))) {
      (one ? read_version_one : read_version_two)(folder, numbers, throttle);
    }
  }
  return throttle;
}

}  // namespace dovetail::storage
