// What can be said of a file system by its kind: the number that `statfs` gives, or the name in the mount table.
#pragma once

#include <string_view>

namespace dovetail::device {

/// Whether its files lie in memory: nothing waits there, and there is no cache to bypass. `type` is `statfs::f_type`, here and below.
bool keeps_files_in_memory(unsigned long type) noexcept;
/// Whether a write to its page cache needs only this kernel: no server, and no process that may be waiting for this one.
bool caches_writes_by_itself(unsigned long type) noexcept;
/// Whether it keeps space for writes to come. In memory, space costs as much memory as the bytes; ZFS promises space that it does not keep.
bool reserves_space(unsigned long type) noexcept;
/// Whether a transfer past its page cache may be faster than one through it. A file system in memory has no cache; one in user space
/// may accept the flag and copy all the same.
bool may_gain_by_direct(unsigned long type) noexcept;

bool keeps_files_in_memory(std::string_view name) noexcept;
bool is_on_network(std::string_view name) noexcept;
bool is_in_user_space(std::string_view name) noexcept;
/// Whether it stores what is written to it though it needs no block device.
bool stores_without_device(std::string_view name) noexcept;

}  // namespace dovetail::device
