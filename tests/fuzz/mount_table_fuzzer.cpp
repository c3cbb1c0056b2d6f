// The tables of the kernel, which in containers hold what others wrote: names of mounts and of control groups.
#include "base/mount_table.hpp"

#include "base/control_groups.hpp"
#include "fuzzer.hpp"

namespace dovetail::fuzz {

std::vector<std::string> seeds() {
  return {"36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n",
          "36 35 98:0 / /a\\040b rw - tmpfs none rw\n37 36 0:5 / / rw - fuse.sshfs host: rw\n",
          "0::/user.slice\n4:blkio:/a\n",
          "\\",
          "1 - - -\n",
          "30 25 0:27 /a /sys/c rw - cgroup2 cgroup rw\n0::/a/b\n"};
}

}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dovetail;
  const std::string_view text = fuzz::text_of(data, size);
  const std::vector<base::Mount> mounts = base::parse_mounts(text);
  for (const base::Mount& mount : mounts) {
    fuzz::require(!mount.number.empty() && !mount.file_system.empty(), "a mount is of a device and a kind");
  }
  for (const base::ControlGroup& group : base::control_groups(mounts, text, "memory")) {
    fuzz::require(!group.folder.empty() || text.empty(), "a group has a folder");
  }
  return 0;
}
