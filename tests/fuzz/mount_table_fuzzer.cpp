// The tables of the kernel, which in containers hold what others wrote: names of mounts and of control groups.
#include "fuzzer.hpp"
#include "storage/device_discovery.hpp"

namespace dovetail::fuzz {

std::vector<std::string> seeds() {
  return {"36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n",
          "36 35 98:0 / /a\\040b rw - tmpfs none rw\n37 36 0:5 / / rw - fuse.sshfs host: rw\n",
          "0::/user.slice\n4:blkio:/a\n", "\\", "1 - - -\n"};
}

}  // namespace dovetail::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dovetail;
  const std::string_view text = fuzz::text_of(data, size);
  for (const storage::Mount& mount : storage::parse_mounts(text)) {
    fuzz::require(!mount.number.empty() && !mount.file_system.empty(), "a mount is of a device and a kind");
  }
  storage::find_throttle({}, text, {"8:0"});
  return 0;
}
