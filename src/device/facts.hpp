// What the kernel says about the file system and the block device behind a path. Nothing is measured. Any thread may ask, and blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/throttle.hpp"

namespace dovetail::device {

/// What the kernel does not say is left at its default.
struct Facts {
  std::string path = {};         ///< The path that was asked for.
  std::string mount_point = {};  ///< Where the file system is mounted.
  std::string file_system = {};  ///< Its type, such as "ext4" or "fuse.sshfs".
  std::string source = {};       ///< What is mounted there, as the mount table names it.
  std::string number = {};       ///< "major:minor" of the file system.
  std::string name = {};         ///< The block device, such as "vda" (the whole disk of a partition), or empty.
  std::optional<bool> rotational =
      {};  ///< Whether it has turning platters. Also said of virtual disks of which nothing is known.
  std::string scheduler = {};             ///< The kernel's I/O scheduler, such as "mq-deadline".
  std::uint64_t request_bytes_max = 0;    ///< Longer requests are cut by the kernel.
  std::uint64_t request_bytes_best = 0;   ///< Request length that the device prefers.
  std::uint32_t queue_requests = 0;       ///< Requests that its queue takes.
  bool direct = false;                    ///< Whether files there can bypass the page cache (`O_DIRECT`).
  std::uint32_t direct_offset_align = 0;  ///< Bytes that offsets and lengths of direct transfers are multiples of.
  std::uint32_t direct_memory_align = 0;  ///< Bytes that addresses of direct transfers are multiples of.
  bool in_memory = false;                 ///< tmpfs and the like: a transfer is a copy.
  bool network = false;                   ///< Files of another machine.
  bool fuse = false;                      ///< A file system in user space.
  bool loop = false;                      ///< A file that is used as a block device.
  std::string backing_file = {};          ///< That file, as the system names it.
  bool read_only = false;                 ///< Mounted read-only.
  std::uint64_t size_bytes = 0;           ///< Of the file system.
  std::uint64_t free_bytes = 0;           ///< Of it, what this user may still fill.
  Throttle throttle = {};                 ///< Limits of the control groups of this process.
};

/// Looks at a file, folder or block device. @throws std::system_error when there is no such path or it may not be looked at.
Facts facts_of(const std::string& path);
/// Of every mounted file system that stores files (not `proc` and the like), each once. Never touches those of other machines or in
/// user space: a server that is gone would stop the caller. @throws std::system_error when the table of mounts cannot be read.
std::vector<Facts> facts_of_mounted();

}  // namespace dovetail::device
