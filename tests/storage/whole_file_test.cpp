// Files that are read whole: with all their bytes, and without a core that waits.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support.hpp"

namespace dovetail::test {
namespace {

std::vector<std::byte> bytes_of(std::size_t number) {
  std::vector<std::byte> data(number);
  for (std::size_t i = 0; i < number; ++i) {
    data[i] = static_cast<std::byte>(i * 7 + i / 251);
  }
  return data;
}

class WholeFileTest : public testing::Test {
 protected:
  std::string make(const std::string& name, std::size_t size) const {
    const std::string path = folder_.string() + "/" + name;
    const std::vector<std::byte> data = bytes_of(size);
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data.data()), static_cast<long>(size));
    return path;
  }
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "whole-file-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(WholeFileTest, HasAllBytesWhereverItIsRead) {
  Runtime runtime(Options{.workers = 2});
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{128 * 1024},
                                 std::size_t{128 * 1024 + 1}, std::size_t{3'000'000}}) {
    const std::string path = make(std::to_string(size), size);
    const std::vector<std::byte> right = bytes_of(size);
    EXPECT_TRUE(read_file(path) == right) << size;
    for (const bool io : {false, true}) {
      for (int time = 0; time < 3; ++time) {  // the folder is known the second time
        EXPECT_TRUE(runtime.spawn({.io = io}, [&] { return read_file(path); }).get() == right) << size << " " << time;
      }
    }
  }
}

TEST_F(WholeFileTest, HasWhatHasNoSizeBeforeItIsRead) {
  Runtime runtime(Options{.workers = 1});
  std::ifstream plain("/proc/self/status");
  std::string first;
  std::getline(plain, first);
  const auto read = [] { return read_file("/proc/self/status"); };
  for (int time = 0; time < 2; ++time) {
    const std::vector<std::byte> data = runtime.spawn(read).get();
    ASSERT_GT(data.size(), first.size());
    EXPECT_EQ(std::memcmp(data.data(), first.data(), 5), 0);
  }
}

// Some files of /proc say that they have ended at every offset but the first.
TEST_F(WholeFileTest, HasAllOfWhatIsGivenAtItsBeginningAlone) {
  Runtime runtime(Options{.workers = 1});
  std::ifstream plain("/proc/sys/kernel/pid_max");
  const std::string expected{std::istreambuf_iterator<char>(plain), {}};
  ASSERT_GT(expected.size(), 1U);
  const auto read = [] {
    const std::vector<std::byte> data = read_file("/proc/sys/kernel/pid_max");
    return std::string(reinterpret_cast<const char*>(data.data()), data.size());
  };
  EXPECT_EQ(read(), expected);
  EXPECT_EQ(runtime.spawn(read).get(), expected);
}

TEST_F(WholeFileTest, IsTheOneThatThePathLeadsToNow) {
  Runtime runtime(Options{.workers = 1});
  const std::string folder = folder_.string() + "/folder";
  std::filesystem::create_directory(folder);
  const std::string path = make("folder/file", 100);
  const auto size = [&] { return read_file(path).size(); };
  EXPECT_EQ(runtime.spawn(size).get(), 100U);
  EXPECT_EQ(runtime.spawn(size).get(), 100U);
  std::filesystem::rename(folder, folder_.string() + "/old");
  std::filesystem::create_directory(folder);
  make("folder/file", 50);
  EXPECT_EQ(runtime.spawn(size).get(), 50U);
  make("target", 70);
  std::filesystem::remove(path);
  std::filesystem::create_symlink("../target", path);
  EXPECT_EQ(runtime.spawn(size).get(), 70U);
}

TEST_F(WholeFileTest, WhatCannotBeReadIsNamed) {
  Runtime runtime(Options{.workers = 1});
  const std::string present = make("present", 10);
  const std::string missing = folder_.string() + "/missing";
  const auto check = [&](const std::string& path, int error) {
    for (const bool in_task : {false, true}) {
      try {
        if (in_task) {
          runtime.spawn([&] { read_file(path); }).get();
        } else {
          read_file(path);
        }
        ADD_FAILURE() << path << " was read";
      } catch (const TaskFailed& failure) {
        EXPECT_EQ(io_error_of(failure).code().value(), error);
        EXPECT_NE(std::string(failure.what()).find(path), std::string::npos) << failure.what();
      } catch (const IoError& failure) {
        EXPECT_EQ(failure.code().value(), error);
        EXPECT_NE(std::string(failure.what()).find(path), std::string::npos) << failure.what();
      }
    }
  };
  for (int time = 0; time < 2; ++time) {
    check(missing, ENOENT);
    check(folder_.string(), EISDIR);
    runtime.spawn([&] { read_file(present); }).get();
  }
}

// In a folder whose files are opened without a look. The other end is opened only after another task of the only worker has run.
TEST_F(WholeFileTest, AFifoWithoutAWriterHoldsNoCore) {
  Runtime runtime(Options{.workers = 1});
  const std::string present = make("present", 10);
  const std::string fifo = folder_.string() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (int time = 0; time < 2; ++time) {
    runtime.spawn([&] { read_file(present); }).get();
    runtime.spawn([&] { read_file(present); }).get();
    auto reading = runtime.spawn([&] { return read_file(fifo); });
    runtime.spawn([] {}).get();
    std::thread writer([&] {
      const int end = open(fifo.c_str(), O_WRONLY | O_CLOEXEC);
      EXPECT_EQ(write(end, "abc", 3), 3);
      close(end);
    });
    EXPECT_EQ(reading.get().size(), 3U);
    writer.join();
  }
}

}  // namespace
}  // namespace dovetail::test
