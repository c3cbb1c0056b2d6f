#include "device/file_system.hpp"

#include <linux/magic.h>

#include <algorithm>

namespace dovetail::device {
namespace {

constexpr unsigned long unknown_type = 0;
constexpr unsigned long zfs_magic = 0x2fc12fc1;  // no header of the kernel has it
constexpr std::string_view without_device[] = {"tmpfs", "ramfs",    "overlay",  "nfs",       "nfs4",     "cifs",
                                               "smb3",  "ceph",     "lustre",   "gpfs",      "beegfs",   "afs",
                                               "9p",    "fuse",     "fuseblk",  "btrfs",     "zfs",      "virtiofs",
                                               "ubifs", "orangefs", "bcachefs", "glusterfs", "hugetlbfs"};
constexpr std::string_view on_network[] = {"nfs",       "nfs4",      "cifs",         "smb3",         "ceph",
                                           "lustre",    "gpfs",      "beegfs",       "afs",          "9p",
                                           "orangefs",  "ocfs2",     "gfs2",         "fuse.sshfs",   "fuse.glusterfs",
                                           "fuse.ceph", "fuse.s3fs", "fuse.juicefs", "fuse.gcsfuse", "fuse.rclone"};

bool is_one_of(std::string_view word, auto& list) noexcept {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

}  // namespace

bool keeps_files_in_memory(unsigned long type) noexcept {
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC || type == HUGETLBFS_MAGIC;
}

bool caches_writes_by_itself(unsigned long type) noexcept {
  return type == EXT4_SUPER_MAGIC || type == XFS_SUPER_MAGIC || type == BTRFS_SUPER_MAGIC || type == F2FS_SUPER_MAGIC;
}

bool reserves_space(unsigned long type) noexcept {
  return type != unknown_type && !keeps_files_in_memory(type) && type != zfs_magic;
}

bool may_gain_by_direct(unsigned long type) noexcept {
  return !keeps_files_in_memory(type) && type != FUSE_SUPER_MAGIC;
}

bool keeps_files_in_memory(std::string_view name) noexcept {
  return name == "tmpfs" || name == "ramfs" || name == "hugetlbfs";
}

bool is_on_network(std::string_view name) noexcept { return is_one_of(name, on_network); }

bool is_in_user_space(std::string_view name) noexcept {
  return name == "fuse" || name == "fuseblk" || name.starts_with("fuse.");
}

bool stores_without_device(std::string_view name) noexcept {
  return is_one_of(name, without_device) || is_in_user_space(name);
}

}  // namespace dovetail::device
