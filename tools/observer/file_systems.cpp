#include "file_systems.hpp"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include <fstream>
#include <sstream>

namespace dovetail::observer {
namespace {

// The kernel writes white space and the backslash as three digits behind a backslash.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + 3 < text.size()) {
      out += static_cast<char>((text[at + 1] - '0') * 64 + (text[at + 2] - '0') * 8 + (text[at + 3] - '0'));
      at += 3;
    } else {
      out += text[at];
    }
  }
  return out;
}

std::string path_of(std::string_view names) {
  std::string path;
  while (!names.empty()) {
    const std::size_t end = std::min(names.find('\0'), names.size());
    path.insert(0, "/" + std::string(names.substr(0, end)));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return path;
}

bool lies_below(std::string_view path, std::string_view folder) {
  return folder == "/" || (path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/'));
}

}  // namespace

std::uint64_t kernel_device(dev_t device) noexcept {
  constexpr unsigned minor_bits = 20;
  return (static_cast<std::uint64_t>(major(device)) << minor_bits) | minor(device);
}

FileSystems::FileSystems() {
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Mount mount{};
    std::uint64_t above = 0;
    unsigned of_driver = 0;
    unsigned of_device = 0;
    char colon = 0;
    std::string root;
    std::string point;
    if (words >> mount.number >> above >> of_driver >> colon >> of_device >> root >> point) {
      mount.device = kernel_device(makedev(of_driver, of_device));
      mount.root = unescaped(root);
      mount.point = unescaped(point);
      mounts_.push_back(mount);
    }
  }
}

std::uint64_t FileSystems::device_of(int folder, const char* path, int flags, const struct stat& status) const {
  struct statx more{};
  if (statx(folder, path, flags, STATX_MNT_ID, &more) == 0 && (more.stx_mask & STATX_MNT_ID) != 0) {
    for (const Mount& mount : mounts_) {
      if (mount.number == more.stx_mnt_id) {
        return mount.device;
      }
    }
  }
  return kernel_device(status.st_dev);
}

page_file FileSystems::file_of(int descriptor, const struct stat& status) const {
  return {device_of(descriptor, "", AT_EMPTY_PATH, status), status.st_ino};
}

std::optional<FoundFile> FileSystems::find(const page_file& file, std::string_view names) const {
  const std::string inner = path_of(names);
  if (inner.empty()) {
    return std::nullopt;
  }
  for (const Mount& mount : mounts_) {
    if (mount.device != file.device || !lies_below(inner, mount.root)) {
      continue;
    }
    const std::string rest = mount.root == "/" ? inner : inner.substr(mount.root.size());
    FoundFile found{(mount.point == "/" ? "" : mount.point) + rest, {}};
    // Another file system may be mounted above it.
    if (lstat(found.path.c_str(), &found.status) == 0 && S_ISREG(found.status.st_mode) &&
        found.status.st_ino == file.inode &&
        device_of(AT_FDCWD, found.path.c_str(), AT_SYMLINK_NOFOLLOW, found.status) == file.device) {
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace dovetail::observer
