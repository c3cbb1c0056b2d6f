#include "base/memory_limit.hpp"

#include <sys/sysinfo.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>

#include "base/control_groups.hpp"
#include "base/kernel_files.hpp"

namespace dovetail::base {
namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

// The number 0 is a limit. A word such as "max" is none, and a file that is not there has none.
std::uint64_t limit_in(const std::string& path) {
  const std::string text = whole_file(path);
  std::uint64_t bytes = 0;
  return std::from_chars(text.data(), text.data() + text.size(), bytes).ec == std::errc{} ? bytes : no_limit;
}

}  // namespace

std::uint64_t memory_limit_of_groups(const std::vector<Mount>& mounts, std::string_view groups) {
  std::uint64_t least = no_limit;
  for (const ControlGroup& group : control_groups(mounts, groups, "memory")) {
    for (const char* name : {"/memory.max", "/memory.high", "/memory.limit_in_bytes"}) {
      least = std::min(least, limit_in(group.folder + name));
    }
  }
  return least;
}

std::uint64_t memory_limit() {
  struct sysinfo machine{};
  const std::uint64_t memory =
      sysinfo(&machine) == 0 ? std::uint64_t{machine.totalram} * machine.mem_unit : std::uint64_t{2} << 30;
  return std::min(memory, memory_limit_of_groups(mounts_now(), whole_file("/proc/self/cgroup")));
}

}  // namespace dovetail::base
