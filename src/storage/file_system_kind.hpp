// What can be said of a file system by its type.
#pragma once

#include <linux/magic.h>

namespace dovetail::storage {

/// Whether its files lie in memory: nothing waits there, and there is no cache to bypass. `type` is `statfs::f_type`, here and below.
constexpr bool keeps_files_in_memory(unsigned long type) noexcept {
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC || type == HUGETLBFS_MAGIC;
}

/// Whether a write to its page cache needs nobody but this kernel: no server, and no process that may be waiting for this one.
constexpr bool caches_writes_by_itself(unsigned long type) noexcept {
  return type == EXT4_SUPER_MAGIC || type == XFS_SUPER_MAGIC || type == BTRFS_SUPER_MAGIC || type == F2FS_SUPER_MAGIC;
}

}  // namespace dovetail::storage
