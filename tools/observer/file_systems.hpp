// Between files as the page cache knows them and files by their paths.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "page_events.h"

namespace dovetail::observer {

/// The number of a device as the kernel writes it, from that of `stat`.
std::uint64_t kernel_device(dev_t device) noexcept;

/// A file that was found by its path.
struct FoundFile {
  std::string path;
  struct stat status;
};

/// The file systems that this process sees mounted. What is mounted later is not known.
class FileSystems {
 public:
  FileSystems();
  /// A regular file, from its names up to the root of its file system, each with a zero behind it. None: it cannot be reached from here by that path.
  std::optional<FoundFile> find(const page_file& file, std::string_view names) const;
  /// What the page cache knows an open file as. `status`: of the descriptor.
  page_file file_of(int descriptor, const struct stat& status) const;

 private:
  struct Mount {
    std::uint64_t number;
    std::uint64_t device;
    std::string root;   // the folder of the file system that is mounted
    std::string point;  // and where
  };
  // Of the mount that a path or a descriptor leads to. Some file systems give `stat` another number.
  std::uint64_t device_of(int folder, const char* path, int flags, const struct stat& status) const;

  std::vector<Mount> mounts_;
};

}  // namespace dovetail::observer
