// Small files are read and replaced where they are what they must be, and nothing is reached through links that another user made.
// One thread.
#include "base/plain_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace dovetail::base {
namespace {

namespace fs = std::filesystem;

class PlainFile : public testing::Test {
 protected:
  PlainFile() {
    std::string name = (fs::temp_directory_path() / "dovetail-plain-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~PlainFile() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  static std::string content_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_;
};

TEST_F(PlainFile, IsReplacedInOneStep) {
  const std::string path = write("file", "a long old text");
  const fs::path before = folder_ / "before";
  fs::create_hard_link(path, before);
  EXPECT_EQ(replace_plain_file(path, "new").error, 0);
  EXPECT_EQ(content_of(path), "new");
  EXPECT_EQ(content_of(before), "a long old text") << "whoever has the old file open goes on to see it whole";
}

TEST_F(PlainFile, ALinkIsReplacedAndNotFollowed) {
  const std::string precious = write("precious", "to stay");
  const std::string path = (folder_ / "file").string();
  fs::create_symlink(precious, path);
  EXPECT_EQ(replace_plain_file(path, "new").error, 0);
  EXPECT_FALSE(fs::is_symlink(path));
  EXPECT_EQ(content_of(path), "new");
  EXPECT_EQ(content_of(precious), "to stay");
}

// A process that is killed between writing and renaming leaves a file there. Another user who wants this process to write elsewhere
// may make a link there.
TEST_F(PlainFile, WhatStandsAtTheNameOfTheNewOneIsLeftAlone) {
  const std::string path = (folder_ / "file").string();
  const fs::path precious = write("precious", "to stay");
  const fs::path absent = folder_ / "absent";
  const auto taken = [&](int i) {
    return fs::path(path + "." + std::to_string(getpid()) + "-" + std::to_string(i) + ".new");
  };
  constexpr int kinds = 4;
  constexpr int names = 2000;  // a call tries 1 000, and this process has written a few times
  for (int i = 0; i < names; ++i) {
    switch (i % kinds) {
      case 0:
        fs::create_symlink(precious, taken(i));
        break;
      case 1:
        fs::create_symlink(absent, taken(i));
        break;
      case 2:
        fs::create_hard_link(precious, taken(i));
        break;
      default:
        std::ofstream(taken(i)) << "left by one that was killed";
    }
  }
  const WriteFailure failure = replace_plain_file(path, "new");
  EXPECT_EQ(failure.error, EEXIST) << "the names in use are others than those that are taken here";
  EXPECT_STREQ(failure.operation, "open");
  EXPECT_FALSE(fs::exists(path));
  EXPECT_TRUE(replace_plain_file(path, "new").error == 0 || replace_plain_file(path, "new").error == 0)
      << "a name behind them is free";
  EXPECT_EQ(content_of(path), "new");
  EXPECT_EQ(content_of(precious), "to stay");
  EXPECT_FALSE(fs::exists(absent));
  for (int i = 0; i < names; ++i) {
    const bool link = i % kinds < 2;
    EXPECT_EQ(fs::is_symlink(taken(i)), link) << i;
    EXPECT_TRUE(link || content_of(taken(i)) == (i % kinds == 2 ? "to stay" : "left by one that was killed")) << i;
  }
}

TEST_F(PlainFile, OfAFailedWriteNothingIsLeft) {
  const fs::path folder = folder_ / "folder";
  fs::create_directory(folder);
  write("folder/inside", "so that nothing can take its place");
  const WriteFailure failure = replace_plain_file(folder.string(), "new");
  EXPECT_STREQ(failure.operation, "rename");
  EXPECT_NE(failure.error, 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(PlainFile, OnlyARegularFileOfLimitedSizeIsRead) {
  const std::string path = write("file", "0123456789");
  EXPECT_EQ(read_plain_file(path, {}).text, "0123456789");
  EXPECT_EQ(read_plain_file(path, {.most_bytes = 10}).why, "");
  EXPECT_NE(read_plain_file(path, {.most_bytes = 9}).why.find("larger than 9"), std::string::npos);
  const std::string link = (folder_ / "link").string();
  fs::create_symlink(path, link);
  EXPECT_NE(read_plain_file(link, {}).why.find("symbolic link"), std::string::npos);
  EXPECT_FALSE(read_plain_file(link, {}).ours);
  EXPECT_EQ(read_plain_file(link, {.follow_links = true}).text, "0123456789");
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_NE(read_plain_file(pipe, {}).why.find("pipe"), std::string::npos);
  EXPECT_TRUE(read_plain_file((folder_ / "absent").string(), {}).missing);
}

}  // namespace
}  // namespace dovetail::base
