// What the kernel's table of mounts says, read from texts that are known.
// One thread.
#include "base/mount_table.hpp"

#include <gtest/gtest.h>

#include "base/kernel_files.hpp"

namespace dovetail::base {
namespace {

constexpr const char* table =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "30 27 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,discard\n"
    "nonsense\n"
    "31 30 0:40 /group /mnt/with\\040blank\\134 ro - fuse.sshfs host:/x rw\n"
    "32 30 0:41 / /sys/fs/cgroup/blkio rw shared:2 master:3 - cgroup cgroup rw,blkio\n"
    "33 30 0:42 / /e rw - tmpfs  rw,size=4k\n";

TEST(MountTable, IsUnderstood) {
  const std::vector<Mount> mounts = parse_mounts(table);
  ASSERT_EQ(mounts.size(), 5U);
  EXPECT_EQ(mounts[1].id, 30U);
  EXPECT_EQ(mounts[1].number, "8:1");
  EXPECT_EQ(mounts[1].mount_point, "/");
  EXPECT_EQ(mounts[1].file_system, "ext4");
  EXPECT_EQ(mounts[1].source, "/dev/sda1");
  EXPECT_TRUE(has_word(mounts[1].options, "discard"));
  EXPECT_EQ(mounts[2].mount_point, "/mnt/with blank\\");
  EXPECT_EQ(mounts[2].root, "/group");
  EXPECT_TRUE(has_word(mounts[2].options, "ro"));
  EXPECT_EQ(mounts[3].file_system, "cgroup");
  EXPECT_EQ(mounts[4].source, "");
  EXPECT_TRUE(parse_mounts("").empty());
}

TEST(MountTable, OfThisProcessHasARoot) {
  const std::vector<Mount> mounts = mounts_now();
  EXPECT_TRUE(std::any_of(mounts.begin(), mounts.end(), [](const Mount& mount) { return mount.mount_point == "/"; }));
}

TEST(KernelFiles, AFileThatIsNotThereIsEmpty) {
  EXPECT_EQ(whole_file("/there/is/no such file"), "");
  EXPECT_EQ(first_line("/there/is/no such file"), "");
  EXPECT_EQ(number_in("max"), 0U);
  EXPECT_EQ(number_in("42 of them"), 42U);
}

}  // namespace
}  // namespace dovetail::base
