// One description of a device, by whatever name or path it is reached.
#include "device/device.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/descriptor.hpp"
#include "device/names.hpp"
#include "device/remembered.hpp"
#include "support.hpp"

namespace dovetail::device {
namespace {

using test::Folder;
using test::refusal;

TEST(Device, IsTheSameByDescriptorAndByPath) {
  const Folder folder;
  const std::string file = folder.write("below/file", "x");
  const base::Descriptor descriptor(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  ASSERT_EQ(fstat(descriptor.get(), &status), 0);
  Device& one = device_of(status.st_dev, descriptor.get());
  EXPECT_EQ(&device_of(folder / "below"), &one);
  EXPECT_EQ(&device_of(file), &one);
  EXPECT_EQ(one.id, status.st_dev);
  EXPECT_NE(&no_device(), &one);
  EXPECT_THROW(device_of(folder / "none"), std::system_error);
}

TEST(Device, ThatLiesInMemoryLooksForNothing) {
  if (access("/dev/shm", W_OK) != 0) {
    GTEST_SKIP() << "no /dev/shm";
  }
  Device& device = device_of("/dev/shm");
  EXPECT_TRUE(device.in_memory);
  EXPECT_FALSE(device.caches_writes);
  EXPECT_TRUE(device.requests(buffered_write_large).decided());
}

/// What is remembered is in a folder of the test. No other device has its number.
class DeviceMemory : public testing::Test {
 protected:
  DeviceMemory() { setenv("XDG_STATE_HOME", (state_ / "state").c_str(), 1); }
  ~DeviceMemory() override { unsetenv("XDG_STATE_HOME"); }
  Folder state_;
};

TEST_F(DeviceMemory, KeepsItsCurveForOtherRuns) {
  const std::vector<Level> curve{{1, 100}, {2, 200}, {6, 396}, {12, 400}};
  Device device(makedev(4000, 1), 1, 0);
  EXPECT_TRUE(device.curve(Direction::write).empty());
  device.set_curve(Direction::write, curve);
  EXPECT_EQ(device.curve(Direction::write), curve);
  EXPECT_TRUE(device.curve(Direction::read).empty());
  const Device in_another_run(makedev(4000, 1), 1, 0);
  EXPECT_EQ(in_another_run.key(), device.key());
  EXPECT_EQ(in_another_run.curve(Direction::write), curve);
  const Device another(makedev(4000, 2), 1, 0);
  EXPECT_TRUE(another.curve(Direction::write).empty());
}

// Requests and tasks begin at the same level.
TEST_F(DeviceMemory, RequestsBeginWithTheKneeOfItsCurve) {
  Device device(makedev(4000, 3), 1, 0);
  device.set_curve(Direction::write, {{1, 100}, {2, 200}, {6, 396}, {12, 400}});
  EXPECT_EQ(device.requests(direct_write_large).route(), (Route{false, 6}));
  EXPECT_EQ(device.requests(buffered_write_large).route(), (Route{false, 6}));
  EXPECT_EQ(device.requests(direct_read_large).route(), first_route(direct_read_large));
  EXPECT_EQ(device.requests(direct_write_small).route(), first_route(direct_write_small));
}

TEST(DeviceLevel, TheKneeIsTheFirstThatGivesNearlyAll) {
  const std::vector<Level> curve{{1, 100}, {2, 200}, {4, 390}, {8, 400}, {16, 100}};
  EXPECT_EQ(knee(curve), (Level{4, 390}));
  EXPECT_EQ(highest_rate(curve), 400);
  EXPECT_EQ(knee({}), Level{});
}

TEST(DeviceNames, SeveralOfOneFileSystemAreOneDeviceWithSettingsOfTheirOwn) {
  const Folder folder;
  std::filesystem::create_directories(folder / "one");
  std::filesystem::create_directories(folder / "two");
  Names& names = Names::of(folder.write("dovetail.toml",
                                        "[[device]]\nname = \"a\"\npaths = [\"one\"]\nwrite = 100\n"
                                        "[[device]]\nname = \"b\"\npaths = [\"two\"]\nmost_at_once = 3\n"));
  NamedDevice& one = names.find("a");
  NamedDevice& two = names.find(folder / "two/new/file");
  NamedDevice& found = names.find(folder / ".");
  EXPECT_NE(&one, &two);
  EXPECT_EQ(two.name(), "b");
  EXPECT_EQ(&one.device(), &two.device());
  EXPECT_EQ(&found.device(), &one.device());
  EXPECT_FALSE(found.settings().configured);
  EXPECT_EQ(one.known_bandwidth(Direction::write), 100);
  EXPECT_EQ(two.known_bandwidth(Direction::write), found.known_bandwidth(Direction::write)) << "a's is a's own";
  EXPECT_EQ(one.settings().most_at_once, 0U);
  for (const NamedDevice* named : {&one, &two, &found}) {
    EXPECT_EQ(named->description().most_at_once, 3U) << "tasks are counted on the device: " << named->name();
  }
  EXPECT_EQ(&names.find(folder / "one"), &one);
  EXPECT_NE(refusal([&] { names.find("c"); }).find("dovetail.toml names a, b"), std::string::npos);
}

// A link, for instance: nothing is measured there.
TEST(DeviceNames, OneWithoutPathsHasTheBandwidthThatIsGiven) {
  const Folder folder;
  Names& names = Names::of(folder.write("dovetail.toml", "[[device]]\nname = \"link\"\nwrite = 100\n"));
  NamedDevice& link = names.find("link");
  EXPECT_EQ(link.bandwidth(Direction::write), 100);
  EXPECT_NE(&link.device(), &no_device());
  const Folder other;
  Names& others = Names::of(
      other.write("dovetail.toml", "[[device]]\nname = \"link\"\n[[device]]\nname = \"second\"\nshared = true\n"));
  EXPECT_EQ(&others.find("link").device(), &link.device()) << "whatever file names it";
  EXPECT_NE(&others.find("second").device(), &link.device());
  EXPECT_NE(link.device().level_key(), others.find("second").device().level_key());
  EXPECT_EQ(others.find("second").device().level_key(), "device second") << "on every host";
  EXPECT_NE(refusal([&] { link.bandwidth(Direction::read); }).find("no paths"), std::string::npos);
}

TEST(DeviceNames, OfDifferentNumbersOfTasksTheLeastHoldsAndIsToldOnce) {
  const Folder folder;
  std::string text;
  for (const auto& [name, most] : {std::pair{"a", "7"}, {"b", "5"}, {"c", "5"}}) {
    std::filesystem::create_directories(folder / name);
    text += "[[device]]\nname = \"" + std::string(name) + "\"\npaths = [\"" + name + "\"]\n" +
            (std::string(name) == "c" ? "" : "most_at_once = " + std::string(most) + "\n");
  }
  const std::string file = folder.write("dovetail.toml", text);
  testing::internal::CaptureStderr();
  const Device& device = Names::of(file).find("a").device();
  Names::of(file).find("b");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_LE(device.most_at_once(), 5U);
  EXPECT_EQ(said.find("dovetail: " + file + ": devices 'a' and 'b' are one (" + device.key() + ")"), 0U) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST(DeviceNames, ADeviceIsSharedIfAnyOfItsNamesSaysSo) {
  Device device("name");
  EXPECT_EQ(device.level_key(), device.key());
  device.configure(4, true);
  device.configure(0, false);
  device.configure(6, false);
  EXPECT_EQ(device.level_key(), "device name");
  EXPECT_EQ(device.most_at_once(), 4U);
}

// A measurement is known of the device, whatever name it was made by.
TEST_F(DeviceMemory, WhatIsMeasuredIsKnownByEveryName) {
  const Folder folder;
  std::filesystem::create_directories(folder / "one");
  Names& names = Names::of(folder.write("dovetail.toml", "[[device]]\nname = \"a\"\npaths = [\"one\"]\nread = 10\n"));
  const NamedDevice& named = names.find("a");
  const NamedDevice& found = names.find(folder / ".");
  EXPECT_EQ(named.bandwidth(Direction::read), 10) << "what is configured is not measured";
  const double written = named.bandwidth(Direction::write);
  EXPECT_GT(written, 0);
  EXPECT_EQ(found.known_bandwidth(Direction::write), written);
  EXPECT_EQ(recall_curve(named.device().key(), Direction::write), named.device().curve(Direction::write));
}

TEST(DeviceUse, OfTheParentIsNotTheChilds) {
  Device device(0, 0, 0);
  device.request_begins();
  device.set_tasks_at_once(4);
  EXPECT_EQ(device.requests_under_way(), 1U);
  EXPECT_EQ(device.tasks_at_once(), 4U);
  device.forget_use();
  EXPECT_EQ(device.requests_under_way(), 0U);
  EXPECT_EQ(device.tasks_at_once(), 0U);
}

}  // namespace
}  // namespace dovetail::device
