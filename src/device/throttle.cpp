#include "device/throttle.hpp"

#include <utility>

#include "base/control_groups.hpp"
#include "base/kernel_files.hpp"

namespace dovetail::device {
namespace {

// 0, which a word such as "max" is taken for, stands for no limit.
void tighten(std::uint64_t& limit, std::string_view text, const std::string& folder, Throttle& throttle) {
  const std::uint64_t value = base::number_in(text);
  if (value != 0 && (limit == 0 || value < limit)) {
    limit = value;
    throttle.group = folder;
  }
}

// What a file says of any of the devices, in lines that begin with "major:minor ".
template <class Use>
void for_each_device(const std::string& path, const std::vector<std::string>& numbers, Use&& use) {
  base::for_each_line(base::whole_file(path), [&](std::string_view line) {
    for (const std::string& number : numbers) {
      if (line.starts_with(number) && line.size() > number.size() && line[number.size()] == ' ') {
        use(line.substr(number.size() + 1));
        return;
      }
    }
  });
}

void read_version_one(const std::string& folder, const std::vector<std::string>& numbers, Throttle& throttle) {
  const std::pair<const char*, std::uint64_t*> files[] = {
      {"read_bps", &throttle.read_bytes_per_second},
      {"write_bps", &throttle.write_bytes_per_second},
      {"read_iops", &throttle.read_operations_per_second},
      {"write_iops", &throttle.write_operations_per_second},
  };
  for (const auto& [name, limit] : files) {
    for_each_device(folder + "/blkio.throttle." + name + "_device", numbers,
                    [&](std::string_view rest) { tighten(*limit, rest, folder, throttle); });
  }
}

void read_version_two(const std::string& folder, const std::vector<std::string>& numbers, Throttle& throttle) {
  const std::pair<std::string_view, std::uint64_t*> keys[] = {
      {"rbps=", &throttle.read_bytes_per_second},
      {"wbps=", &throttle.write_bytes_per_second},
      {"riops=", &throttle.read_operations_per_second},
      {"wiops=", &throttle.write_operations_per_second},
  };
  for_each_device(folder + "/io.max", numbers, [&](std::string_view rest) {
    base::for_each_part(rest, ' ', [&](std::string_view word) {
      for (const auto& [key, limit] : keys) {
        if (word.starts_with(key)) {
          tighten(*limit, word.substr(key.size()), folder, throttle);
        }
      }
    });
  });
}

}  // namespace

Throttle find_throttle(const std::vector<base::Mount>& mounts, std::string_view groups,
                       const std::vector<std::string>& numbers) {
  Throttle throttle;
  for (const base::ControlGroup& group : base::control_groups(mounts, groups, "blkio")) {
    (group.unified ? read_version_two : read_version_one)(group.folder, numbers, throttle);
  }
  return throttle;
}

}  // namespace dovetail::device
