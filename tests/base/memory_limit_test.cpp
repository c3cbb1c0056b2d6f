// One thread.
#include "base/memory_limit.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "base/kernel_files.hpp"

namespace dovetail::base {
namespace {

namespace fs = std::filesystem;

constexpr auto no_limit = std::numeric_limits<std::uint64_t>::max();

class MemoryLimitTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "dovetail-memory-limit-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const fs::path& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
  }
  std::string mount(const std::string& group, const char* folder, const char* type, const char* options) const {
    return "30 25 0:27 " + group + ' ' + (root_ / folder).string() + " rw,relatime shared:5 - " + type + " cgroup " +
           options + '\n';
  }
  std::uint64_t limit() const {
    return memory_limit_of_groups(parse_mounts(whole_file(root_ / "mountinfo")), whole_file(root_ / "cgroup"));
  }

  fs::path root_;
};

TEST_F(MemoryLimitTest, IsTheLeastOfAGroupAndThoseAboveItInVersionTwo) {
  write("cgroup", "0::/user/program\n");
  write("mountinfo", mount("/", "two", "cgroup2", "rw"));
  write("two/user/program/memory.max", "max\n");
  write("two/user/program/memory.high", "700000\n");
  write("two/user/memory.max", "500000\n");
  EXPECT_EQ(limit(), 500000U);
  write("two/user/program/memory.max", "300000\n");
  EXPECT_EQ(limit(), 300000U);
  write("two/user/program/memory.high", "200000\n");
  EXPECT_EQ(limit(), 200000U);
}

TEST_F(MemoryLimitTest, IsThatOfTheMemoryControllerInVersionOne) {
  write("cgroup", "5:cpu,cpuacct:/other\n4:memory:/user/program\n0::/\n");
  write("mountinfo", mount("/", "cpu", "cgroup", "rw,cpu,cpuacct") + mount("/", "one", "cgroup", "rw,memory"));
  write("one/other/memory.limit_in_bytes", "1\n");
  write("cpu/other/memory.limit_in_bytes", "1\n");
  write("one/user/program/memory.limit_in_bytes", "268435456\n");
  write("one/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(limit(), 268435456U);
}

TEST_F(MemoryLimitTest, IsFoundWhereOnlyTheGroupOfAContainerIsMounted) {
  write("cgroup", "4:memory:/docker/abc/inner\n");
  write("mountinfo", mount("/docker/abc", "one", "cgroup", "rw,memory"));
  write("one/memory.limit_in_bytes", "400000\n");
  write("one/inner/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(limit(), 400000U);
}

TEST_F(MemoryLimitTest, IsNoneWithoutGroups) {
  EXPECT_EQ(limit(), no_limit);
  write("cgroup", "0::/\nnonsense\n");
  write("mountinfo", "nonsense\n" + mount("/", "two", "cgroup2", "rw"));
  EXPECT_EQ(limit(), no_limit);
}

TEST_F(MemoryLimitTest, IsNothingWhereAGroupHasTheNumberZero) {
  write("cgroup", "0::/user\n");
  write("mountinfo", mount("/", "two", "cgroup2", "rw"));
  write("two/user/memory.high", "0\n");
  EXPECT_EQ(limit(), 0U);
}

TEST_F(MemoryLimitTest, IsNoMoreThanTheMachineHas) {
  const auto machine = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(getpagesize());
  EXPECT_LE(memory_limit(), machine);
  EXPECT_GT(memory_limit(), 0U);
}

}  // namespace
}  // namespace dovetail::base
