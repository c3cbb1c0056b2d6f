// dovetail.toml: what it may say, and where it is looked for.
#include "device/configuration.hpp"

#include <filesystem>

#include "support.hpp"

namespace dovetail::device {
namespace {

namespace fs = std::filesystem;

TEST(Configuration, ReadsDevices) {
  const test::Folder folder;
  const fs::path path(folder / "");
  fs::create_directories(path / "real");
  fs::create_symlink(path / "real", path / "link");
  const std::string file =
      folder.write("dovetail.toml",
                   "[other]\nx = 1\n[[device]]\nname = \"scratch\"\npaths = [\"link\", \"/data\"]\n"
                   "read = 450\nwrite = 400.5\nshared = true\nmost_at_once = 8\n[[device]]\nname = \"local\"\n");
  const auto devices = storage_devices(file);
  ASSERT_EQ(devices.size(), 2U);
  EXPECT_EQ(devices[0].name, "scratch");
  EXPECT_EQ(devices[0].paths, (std::vector<std::string>{fs::canonical(path / "real").string(), "/data"}));
  EXPECT_EQ(devices[0].read_mb_per_second, 450);
  EXPECT_EQ(devices[0].write_mb_per_second, 400.5);
  EXPECT_TRUE(devices[0].shared);
  EXPECT_FALSE(devices[1].shared);
  EXPECT_EQ(devices[0].most_at_once, 8U);
  EXPECT_EQ(devices[1].most_at_once, 0U);
  EXPECT_EQ(storage_device("", file, false).name, "scratch") << "the first";
  EXPECT_EQ(storage_device("local", file, false).name, "local");
  EXPECT_EQ(storage_device((path / "link" / "new" / "file").string(), file, false).name, "scratch");
  EXPECT_FALSE(storage_device(path.string(), file, false).configured);
  const fs::path before = fs::current_path();
  fs::current_path(path / "real");
  EXPECT_EQ(storage_device("new/file", file, false).name, "scratch") << "a relative name of what does not exist yet";
  fs::current_path(before);
  const std::string why = test::refusal([&] { storage_device("nowhere", file, false); });
  EXPECT_NE(why.find("there is no storage device 'nowhere': dovetail.toml names scratch, local"), std::string::npos)
      << why;
}

TEST(Configuration, SaysWhichLineIsWrong) {
  const test::Folder folder;
  const fs::path path(folder / "");
  const std::pair<const char*, const char*> cases[] = {
      {"[[device]]\nname = \"a\"\nread = -1\n", ":3: 'read' must be a number of MB/s greater than 0"},
      {"[[device]]\nname = \"a\"\nread = \"fast\"\n", ":3: 'read' must be a number"},
      {"[[device]]\nname = \"a\"\nspeed = 4\n", ":3: a device has no 'speed'"},
      {"[[device]]\nread = 4\n", ":1: a device needs a 'name'"},
      {"[device]\nname = \"a\"\n", ": 'device' must be a list of tables"},
      {"[[device]]\nname = \"a/b\"\n", "contains a '/'"},
      {"[[device]]\nname = \"a\"\npaths = \"/x\"\n", ":3: 'paths' must be a list"},
      {"[[device]]\nname = \"a\"\npaths = [1]\n", "'paths' must be a text"},
      {"[[device]]\nname = \"a\"\nshared = 1\n", ":3: 'shared' must be true"},
      {"[[device]]\nname = \"a\"\nmost_at_once = 0\n", ":3: 'most_at_once' must be a number of tasks, at least 1"},
      {"[[device]]\nname = \"a\"\nmost_at_once = 2.5\n", ":3: 'most_at_once' must be a number of tasks"},
      {"[[device]]\nname = \"a\"\n[[device]]\nname = \"a\"\n", "two devices are called 'a'"},
      {"[[device]]\nname = \"a\"\npaths = [\"/x\", \"/x/\"]\n", "'/x' is given twice"},
      {"[[device]\nname", "dovetail.toml:1: "},
  };
  for (const auto& [text, message] : cases) {
    const std::string file = folder.write("dovetail.toml", text);
    const std::string why = test::refusal([&] { read_configuration(file); });
    EXPECT_NE(why.find(message), std::string::npos) << text << "\n" << why;
    EXPECT_NE(why.find(file), std::string::npos) << why;
  }
  EXPECT_NE(test::refusal([&] { storage_devices((path / "none.toml").string()); }).find("does not exist"),
            std::string::npos);
}

TEST(Configuration, IsFoundByEnvironmentThenHereThenInTheUsersFolder) {
  const test::Folder folder;
  const fs::path path(folder / "");
  const fs::path before = fs::current_path();
  const std::string user = folder.write("config/dovetail/dovetail.toml", "");
  setenv("XDG_CONFIG_HOME", (path / "config").c_str(), 1);
  unsetenv("DOVETAIL_CONFIG");
  fs::current_path(path);
  EXPECT_EQ(configuration_file(""), fs::canonical(user));
  const std::string here = folder.write("dovetail.toml", "");
  EXPECT_EQ(configuration_file(""), fs::canonical(here));
  const std::string named = folder.write("other.toml", "");
  setenv("DOVETAIL_CONFIG", named.c_str(), 1);
  EXPECT_EQ(configuration_file(""), fs::canonical(named));
  EXPECT_EQ(configuration_file(here), fs::canonical(here)) << "what a program says goes before";
  unsetenv("DOVETAIL_CONFIG");
  unsetenv("XDG_CONFIG_HOME");
  fs::current_path(before);
}

}  // namespace
}  // namespace dovetail::device
