// What the kernel says about devices: from texts that are known, and from this machine.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "device/engine_probe.hpp"
#include "device/facts.hpp"
#include "device/file_system.hpp"
#include "device/ring_setup.hpp"
#include "device/throttle.hpp"
#include "support.hpp"

namespace dovetail::device {
namespace {

using base::Mount;
using test::Folder;

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
  const Throttle found = find_throttle({mount("cgroup", "rw,blkio")}, "7:cpu:/\n3:blkio,x:/one/two\n0::/\n", {"7:1"});
  EXPECT_EQ(found.read_bytes_per_second, 300U);
  EXPECT_EQ(found.write_bytes_per_second, 0U);
  EXPECT_EQ(found.write_operations_per_second, 77U);
  EXPECT_TRUE(found.any());
  EXPECT_FALSE(find_throttle({mount("cgroup", "rw,blkio")}, "3:blkio:/one\n", {"9:9"}).any());
  EXPECT_FALSE(find_throttle({mount("cgroup", "rw,cpu")}, "3:blkio:/one\n", {"7:1"}).any());
}

TEST_F(ThrottleFiles, OfVersionTwoEveryWordOfTheLineCounts) {
  mkdir((folder_ / "inner").c_str(), 0700);
  write("inner/io.max", "7:0 rbps=1 wbps=1 riops=1 wiops=1\n7:1 rbps=max wbps=2097152 riops=max wiops=120\n");
  // The container sees the group /outer as the top.
  const Throttle found = find_throttle({mount("cgroup2", "rw", "/outer")}, "0::/outer/inner\n", {"7:1"});
  EXPECT_EQ(found.read_bytes_per_second, 0U);
  EXPECT_EQ(found.write_bytes_per_second, 2097152U);
  EXPECT_EQ(found.read_operations_per_second, 0U);
  EXPECT_EQ(found.write_operations_per_second, 120U);
  EXPECT_NE(found.group.find("inner"), std::string::npos);
}

TEST(FileSystem, IsKnownByItsName) {
  EXPECT_TRUE(is_on_network("fuse.sshfs"));
  EXPECT_TRUE(is_in_user_space("fuse.sshfs"));
  EXPECT_FALSE(is_on_network("fuse"));
  EXPECT_TRUE(keeps_files_in_memory("tmpfs"));
  EXPECT_FALSE(keeps_files_in_memory("ext4"));
  EXPECT_TRUE(stores_without_device("overlay"));
  EXPECT_FALSE(stores_without_device("proc"));
}

TEST(FactsOf, AFolderAndAFileInItAreTheSame) {
  Folder folder;
  std::ofstream(folder / "file") << "x";
  const Facts device = facts_of(folder / ".");
  const Facts same = facts_of(folder / "file");
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

TEST(FactsOf, SharedMemoryIsInMemory) {
  if (access("/dev/shm", W_OK) != 0) {
    GTEST_SKIP() << "no /dev/shm";
  }
  const Facts device = facts_of("/dev/shm");
  EXPECT_EQ(device.file_system, "tmpfs");
  EXPECT_EQ(device.mount_point, "/dev/shm");
  EXPECT_TRUE(device.in_memory);
  EXPECT_FALSE(device.network);
  EXPECT_TRUE(device.name.empty());
}

TEST(FactsOf, AMissingPathIsAnErrorThatNamesIt) {
  try {
    facts_of("/there/is/no such thing");
    FAIL() << "it was found";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code().value(), ENOENT);
    EXPECT_NE(std::string(error.what()).find("'/there/is/no such thing'"), std::string::npos) << error.what();
  }
}

TEST(FactsOfMounted, AreEachThereOnceAndStoreFiles) {
  const std::vector<Facts> devices = facts_of_mounted();
  std::vector<std::string> numbers;
  for (const Facts& device : devices) {
    EXPECT_NE(device.file_system, "proc");
    EXPECT_NE(device.file_system, "sysfs");
    EXPECT_EQ(std::count(numbers.begin(), numbers.end(), device.number), 0) << device.mount_point;
    numbers.push_back(device.number);
  }
}

TEST(EngineProbes, AgreeWithWhatTheKernelGives) {
  const std::vector<EngineProbe> probes = probe_engines();
  ASSERT_EQ(probes.size(), 3U);
  EXPECT_EQ(probes[0].name, "uring");
  io_uring ring{};
  const bool has_ring = set_up_ring(ring).empty();
  if (has_ring) {
    io_uring_queue_exit(&ring);
  }
  EXPECT_EQ(probes[0].works, has_ring);
  EXPECT_EQ(probes[1].name, "aio");
  EXPECT_TRUE(probes[2].works);
  for (const EngineProbe& probe : probes) {
    EXPECT_EQ(probe.why_not.empty(), probe.works) << probe.name << ": " << probe.why_not;
    for (const FeatureProbe& feature : probe.features) {
      EXPECT_EQ(feature.why_not.empty(), feature.works) << feature.name << ": " << feature.why_not;
    }
  }
  if (probes[0].works) {
    EXPECT_GE(probes[0].features.size(), 6U);
  }
}

}  // namespace
}  // namespace dovetail::device
