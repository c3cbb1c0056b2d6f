// What is found out about devices: from texts that are known, and from this machine.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "dovetail/device.hpp"
#include "storage/device_discovery.hpp"
#include "storage/engine_probe.hpp"
#include "support.hpp"

namespace dovetail::test {
namespace {

using storage::Mount;

constexpr const char* table =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "30 27 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,discard\n"
    "nonsense\n"
    "31 30 0:40 /group /mnt/with\\040blank\\134 ro - fuse.sshfs host:/x rw\n"
    "32 30 0:41 / /sys/fs/cgroup/blkio rw shared:2 master:3 - cgroup cgroup rw,blkio\n"
    "33 30 0:42 / /e rw - tmpfs  rw,size=4k\n";

TEST(MountTable, IsUnderstood) {
  const std::vector<Mount> mounts = storage::parse_mounts(table);
  ASSERT_EQ(mounts.size(), 5U);
  EXPECT_EQ(mounts[1].id, 30U);
  EXPECT_EQ(mounts[1].number, "8:1");
  EXPECT_EQ(mounts[1].mount_point, "/");
  EXPECT_EQ(mounts[1].file_system, "ext4");
  EXPECT_EQ(mounts[1].source, "/dev/sda1");
  EXPECT_TRUE(storage::has_word(mounts[1].options, "discard"));
  EXPECT_EQ(mounts[2].mount_point, "/mnt/with blank\\");
  EXPECT_EQ(mounts[2].root, "/group");
  EXPECT_TRUE(storage::has_word(mounts[2].options, "ro"));
  EXPECT_TRUE(storage::is_on_network(mounts[2].file_system));
  EXPECT_TRUE(storage::is_in_user_space(mounts[2].file_system));
  EXPECT_EQ(mounts[3].file_system, "cgroup");
  EXPECT_EQ(mounts[4].source, "");
  EXPECT_TRUE(storage::keeps_files_in_memory(mounts[4].file_system));
  EXPECT_TRUE(storage::parse_mounts("").empty());
}

class ThrottleFiles : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) { std::ofstream(folder_ / path) << text; }
  Mount mount(const char* kind, const char* options, const char* root = "/") {
    Mount made;
    made.mount_point = folder_ / ".";
    made.root = root;
    made.file_system = kind;
    made.options = options;
    return made;
  }
  Folder folder_;
};

TEST_F(ThrottleFiles, OfVersionOneTheTightestCounts) {
  mkdir((folder_ / "one").c_str(), 0700);
  mkdir((folder_ / "one/two").c_str(), 0700);
  write("blkio.throttle.read_bps_device", "7:1 500\n7:10 5\n");
  write("one/blkio.throttle.read_bps_device", "7:1 300\n");
  write("one/two/blkio.throttle.read_bps_device", "7:1 400\n");
  write("one/two/blkio.throttle.write_iops_device", "8:0 9\n7:1 77\n");
  const Throttle found =
      storage::find_throttle({mount("cgroup", "rw,blkio")}, "7:cpu:/\n3:blkio,x:/one/two\n0::/\n", {"7:1"});
  EXPECT_EQ(found.read_bytes_per_second, 300U);
  EXPECT_EQ(found.write_bytes_per_second, 0U);
  EXPECT_EQ(found.write_operations_per_second, 77U);
  EXPECT_TRUE(found.any());
  EXPECT_FALSE(storage::find_throttle({mount("cgroup", "rw,blkio")}, "3:blkio:/one\n", {"9:9"}).any());
  EXPECT_FALSE(storage::find_throttle({mount("cgroup", "rw,cpu")}, "3:blkio:/one\n", {"7:1"}).any());
}

TEST_F(ThrottleFiles, OfVersionTwoEveryWordOfTheLineCounts) {
  mkdir((folder_ / "inner").c_str(), 0700);
  write("inner/io.max", "7:0 rbps=1 wbps=1 riops=1 wiops=1\n7:1 rbps=max wbps=2097152 riops=max wiops=120\n");
  // The container sees the group /outer as the top.
  const Throttle found = storage::find_throttle({mount("cgroup2", "rw", "/outer")}, "0::/outer/inner\n", {"7:1"});
  EXPECT_EQ(found.read_bytes_per_second, 0U);
  EXPECT_EQ(found.write_bytes_per_second, 2097152U);
  EXPECT_EQ(found.read_operations_per_second, 0U);
  EXPECT_EQ(found.write_operations_per_second, 120U);
  EXPECT_NE(found.group.find("inner"), std::string::npos);
}

TEST(DeviceOf, AFolderAndAFileInItAreTheSame) {
  Folder folder;
  std::ofstream(folder / "file") << "x";
  const Device device = Device::of(folder / ".");
  const Device same = Device::of(folder / "file");
  struct stat status{};
  ASSERT_EQ(stat((folder / ".").c_str(), &status), 0);
  EXPECT_FALSE(device.file_system.empty());
  EXPECT_FALSE(device.mount_point.empty());
  EXPECT_EQ(device.number, same.number);
  EXPECT_EQ(device.name, same.name);
  EXPECT_EQ(device.direct, same.direct);
  EXPECT_GT(device.size_bytes, 0U);
  EXPECT_LE(device.free_bytes, device.size_bytes);
  if (!device.name.empty()) {
    EXPECT_TRUE(device.rotational.has_value());
    EXPECT_GT(device.request_bytes_max, 0U);
  }
  if (device.direct) {
    EXPECT_GT(device.direct_offset_align, 0U);
    EXPECT_GT(device.direct_memory_align, 0U);
  }
}

TEST(DeviceOf, SharedMemoryIsInMemory) {
  if (access("/dev/shm", W_OK) != 0) {
    GTEST_SKIP() << "no /dev/shm";
  }
  const Device device = Device::of("/dev/shm");
  EXPECT_EQ(device.file_system, "tmpfs");
  EXPECT_EQ(device.mount_point, "/dev/shm");
  EXPECT_TRUE(device.in_memory);
  EXPECT_FALSE(device.network);
  EXPECT_TRUE(device.name.empty());
}

TEST(DeviceOf, AMissingPathIsAnErrorThatNamesIt) {
  try {
    Device::of("/there/is/no such thing");
    FAIL() << "it was found";
  } catch (const IoError& error) {
    EXPECT_EQ(error.code().value(), ENOENT);
    EXPECT_EQ(error.path(), "/there/is/no such thing");
  }
}

TEST(DevicesMounted, AreEachThereOnceAndStoreFiles) {
  const std::vector<Device> devices = Device::mounted();
  std::vector<std::string> numbers;
  for (const Device& device : devices) {
    EXPECT_NE(device.file_system, "proc");
    EXPECT_NE(device.file_system, "sysfs");
    EXPECT_EQ(std::count(numbers.begin(), numbers.end(), device.number), 0) << device.mount_point;
    numbers.push_back(device.number);
  }
}

TEST(EngineProbes, AgreeWithTheEngines) {
  const std::vector<storage::EngineProbe> probes = storage::probe_engines();
  ASSERT_EQ(probes.size(), 3U);
  EXPECT_EQ(probes[0].name, "uring");
  EXPECT_EQ(probes[0].works, ring_available());
  EXPECT_EQ(probes[1].name, "aio");
  EXPECT_TRUE(probes[2].works);
  for (const storage::EngineProbe& probe : probes) {
    EXPECT_EQ(probe.why_not.empty(), probe.works) << probe.name << ": " << probe.why_not;
    for (const storage::FeatureProbe& feature : probe.features) {
      EXPECT_EQ(feature.why_not.empty(), feature.works) << feature.name << ": " << feature.why_not;
    }
  }
  if (probes[0].works) {
    EXPECT_GE(probes[0].features.size(), 6U);
  }
}

}  // namespace
}  // namespace dovetail::test
