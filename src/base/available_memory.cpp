#include "base/available_memory.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include "base/control_groups.hpp"
#include "base/kernel_files.hpp"

namespace dovetail::base {
namespace {

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

// A word such as "max" is none, and a file that is not there has none.
std::optional<std::uint64_t> bytes_in(const std::string& path) {
  const std::string text = whole_file(path);
  std::uint64_t bytes = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), bytes).ec != std::errc{}) {
    return std::nullopt;
  }
  return bytes;
}

std::uint64_t available_on_machine() {
  constexpr std::string_view name = "MemAvailable:";
  std::uint64_t bytes = unlimited;
  for_each_line(whole_file("/proc/meminfo"), [&](std::string_view line) {
    if (line.starts_with(name)) {
      line.remove_prefix(std::min(line.find_first_not_of(' ', name.size()), line.size()));
      bytes = number_in(line) * 1024;
    }
  });
  return bytes;
}

}  // namespace

std::uint64_t memory_left_in_groups(const std::vector<Mount>& mounts, std::string_view groups) {
  struct Names {
    const char* limit;
    const char* used;
  };
  constexpr Names versions[] = {{"/memory.limit_in_bytes", "/memory.usage_in_bytes"},
                                {"/memory.max", "/memory.current"}};
  std::uint64_t least = unlimited;
  for (const ControlGroup& group : control_groups(mounts, groups, "memory")) {
    const Names& names = versions[group.unified ? 1 : 0];
    const auto limit = bytes_in(group.folder + names.limit);
    const auto used = bytes_in(group.folder + names.used);
    if (limit && used) {
      least = std::min(least, std::max(*limit - std::min(*limit, *used), *limit / 8));
    }
  }
  return least;
}

std::uint64_t available_memory() {
  return std::min(available_on_machine(), memory_left_in_groups(mounts_now(), whole_file("/proc/self/cgroup")));
}

}  // namespace dovetail::base
