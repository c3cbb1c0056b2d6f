// Which file systems keep their files in memory: nothing waits there, and there is no cache to bypass.
#pragma once

#include <linux/magic.h>

namespace dovetail::storage {

/// `type` is `statfs::f_type`.
constexpr bool keeps_files_in_memory(unsigned long type) noexcept {
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC || type == HUGETLBFS_MAGIC;
}

}  // namespace dovetail::storage
