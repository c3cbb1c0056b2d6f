// Files that are block devices. Their bytes lie on no file system.
#include <linux/loop.h>
#include <sys/ioctl.h>

#include "base/descriptor.hpp"
#include "support.hpp"

namespace dovetail::test {
namespace {

// A file as a block device, until the last descriptor of it is closed.
class LoopDevice {
 public:
  explicit LoopDevice(const std::string& path) {
    const base::Descriptor control(::open("/dev/loop-control", O_RDWR | O_CLOEXEC));
    const base::Descriptor backing(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    const int number = ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) {
      return;
    }
    name_ = "/dev/loop" + std::to_string(number);
    device_ = base::Descriptor(::open(name_.c_str(), O_RDWR | O_CLOEXEC));
    loop_config configuration{};
    configuration.fd = static_cast<std::uint32_t>(backing.get());
    configuration.info.lo_flags = LO_FLAGS_AUTOCLEAR;
    made_ = ioctl(device_.get(), LOOP_CONFIGURE, &configuration) == 0;
  }
  bool made() const { return made_; }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  base::Descriptor device_{-1};
  bool made_ = false;
};

TEST(BlockDeviceTest, LargeTransfersMayBypassThePageCache) {
  constexpr std::size_t size = 4 << 20;
  const Folder folder;
  const std::vector<std::byte> data = random_bytes(size, 5);
  const std::string path = folder.write("backing", std::string(reinterpret_cast<const char*>(data.data()), size));
  const LoopDevice device(path);
  if (!device.made()) {
    GTEST_SKIP() << "no loop device can be made here";
  }
  const Runtime runtime(Options{.workers = 1});
  const File file = File::open(device.name(), O_RDWR, {.direct = Direct::adaptive});
  EXPECT_TRUE(file.direct());
  std::vector<std::byte> read(size);
  EXPECT_EQ(file.pread(read, 0), size);
  EXPECT_TRUE(read == data);
}

}  // namespace
}  // namespace dovetail::test
