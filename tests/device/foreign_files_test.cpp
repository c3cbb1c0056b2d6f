// Files that another user may have written or put in place of ours. None of them ends the process, holds it up, or is followed.
// One thread.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "device/configuration.hpp"
#include "device/remembered.hpp"

namespace dovetail::device {
namespace {

namespace fs = std::filesystem;

std::string repeated(std::string_view text, std::size_t times) {
  std::string result;
  result.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) {
    result += text;
  }
  return result;
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class ForeignFiles : public testing::Test {
 protected:
  ForeignFiles() : before_(fs::current_path()) {
    std::string name = (fs::temp_directory_path() / "dovetail-foreign-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    fs::create_directories(folder_ / "here");
    fs::create_directories(folder_ / "config/dovetail");
    fs::create_directories(folder_ / "state/dovetail");
    setenv("XDG_CONFIG_HOME", (folder_ / "config").c_str(), 1);
    setenv("XDG_STATE_HOME", (folder_ / "state").c_str(), 1);
    unsetenv("DOVETAIL_CONFIG");
    fs::current_path(folder_ / "here");
  }
  ~ForeignFiles() override {
    fs::current_path(before_);
    unsetenv("XDG_CONFIG_HOME");
    unsetenv("XDG_STATE_HOME");
    fs::remove_all(folder_);
  }

  std::string write(const fs::path& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  // What `read_configuration` says of this text.
  std::string refusal(const std::string& text) const {
    const std::string file = write("here/dovetail.toml", text);
    try {
      read_configuration(file);
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(file), std::string::npos) << error.what();
      EXPECT_LT(std::string(error.what()).size(), 1000U);
      return error.what();
    }
    return "not refused";
  }

  fs::path memory() const { return folder_ / "state/dovetail/admission.json"; }

  fs::path folder_;
  fs::path before_;
};

TEST_F(ForeignFiles, AKeyOfManyDotsIsRefused) {
  for (const std::size_t dots : {200, 20'000, 100'000}) {
    const std::string key = "a" + repeated(".a", dots);
    for (const std::string& text :
         {key + " = 1\n", "[" + key + "]\n", "[[" + key + "]]\n", "a = {" + key + " = 1}\n"}) {
      const std::string why = refusal(text);
      EXPECT_NE(why.find("dots"), std::string::npos) << dots << ": " << why;
    }
  }
}

TEST_F(ForeignFiles, DeepValuesAreRefused) {
  for (const std::size_t depth : {100, 50'000}) {
    for (const char* opening : {"[", "{a=", "{a.a.a.a.a.a.a.a.a.a.a.a=[\n"}) {
      EXPECT_NE(refusal("a = " + repeated(opening, depth)), "not refused") << opening << " " << depth;
    }
  }
}

TEST_F(ForeignFiles, WhatIsNoTextIsRefused) {
  EXPECT_NE(refusal(std::string("[\0\0 ]", 5)).find("control character"), std::string::npos);
  for (const char* text : {"[=a]\n", "[[ #\n", "[\n]", "[\"", "[']"}) {
    EXPECT_NE(refusal(text), "not refused") << text;
  }
  EXPECT_NE(refusal("\n\n# \x7f\n").find(":3: there is a control character"), std::string::npos);
}

TEST_F(ForeignFiles, AHugeConfigurationIsRefused) {
  EXPECT_NE(refusal(repeated("# nothing\n", 1'000'000)).find("larger than"), std::string::npos);
}

TEST_F(ForeignFiles, APipeInTheCurrentFolderIsNoConfiguration) {
  const std::string user = write("config/dovetail/dovetail.toml", "");
  ASSERT_EQ(mkfifo("dovetail.toml", 0600), 0);
  testing::internal::CaptureStderr();
  const std::string found = configuration_file("");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(found, fs::canonical(user));
  EXPECT_NE(said.find("dovetail.toml"), std::string::npos) << said;
  EXPECT_NE(said.find("pipe"), std::string::npos) << said;
  setenv("DOVETAIL_CONFIG", "dovetail.toml", 1);
  std::string why;
  try {
    read_configuration(configuration_file(""));
  } catch (const std::invalid_argument& error) {
    why = error.what();
  }
  unsetenv("DOVETAIL_CONFIG");
  EXPECT_NE(why.find("pipe"), std::string::npos) << "named, it is an error: " << why;
}

TEST_F(ForeignFiles, WhatBelongsToAnotherUserIsNoConfiguration) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can give files away";
  }
  const std::string here = write("here/dovetail.toml", "[[device]]\nname = \"theirs\"\n");
  ASSERT_EQ(chown(here.c_str(), 12345, 12345), 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(configuration_file(""), "");
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("12345"), std::string::npos) << said;
  EXPECT_EQ(configuration_file(here), fs::canonical(here)) << "a file that is named is meant";
  EXPECT_EQ(read_configuration(here).size(), 1U);
}

TEST_F(ForeignFiles, NestedMemoryIsIgnored) {
  constexpr std::size_t deep = 1'000'000;
  const std::string nest = repeated("[", deep) + repeated("]", deep);
  testing::internal::CaptureStderr();
  for (const std::string& text :
       {"{\"version\": " + nest + "}", "{\"version\": 1, \"devices\": {\"a\": " + nest + "}}",
        "{\"version\": 1, \"devices\": {\"a\": {\"x\": " + nest + "}}}", repeated("{\"a\":", deep),
        "{\"version\": 1, \"devices\": {}, \"x\": " + nest + "}"}) {
    write("state/dovetail/admission.json", text);
    EXPECT_FALSE(recall_level("a").at_once);
    EXPECT_TRUE(remember_level("b", {2, 1}));
    EXPECT_TRUE(recall_level("b").at_once);
    EXPECT_LT(fs::file_size(memory()), 1000U);
  }
  testing::internal::GetCapturedStderr();
}

TEST_F(ForeignFiles, HugeMemoryIsIgnoredUnread) {
  write("state/dovetail/admission.json", "");
  fs::resize_file(memory(), std::uintmax_t{1} << 40);  // a hole; a process that reads it runs out of memory
  testing::internal::CaptureStderr();
  EXPECT_FALSE(recall_level("a").at_once);
  EXPECT_TRUE(remember_level("b", {2, 1}));
  EXPECT_TRUE(recall_level("b").at_once);
  testing::internal::GetCapturedStderr();
}

TEST_F(ForeignFiles, APipeIsNoMemory) {
  ASSERT_EQ(mkfifo(memory().c_str(), 0600), 0);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(recall_level("a").at_once);
  EXPECT_FALSE(remember_level("a", {2, 1})) << "what is not ours stays";
  testing::internal::GetCapturedStderr();
  EXPECT_TRUE(fs::is_fifo(memory()));
}

TEST_F(ForeignFiles, LinksAreNotFollowed) {
  const fs::path precious = folder_ / "precious";
  constexpr const char* text = "{\"version\": 1, \"devices\": {\"a\": {\"at_once\": 3}}}";
  for (const char* suffix : {"", ".lock"}) {
    write("precious", text);
    const fs::path link = memory().string() + suffix;
    fs::create_symlink(precious, link);
    testing::internal::CaptureStderr();
    EXPECT_FALSE(recall_level("a").at_once) << suffix;
    remember_level("b", {2, 1});
    testing::internal::GetCapturedStderr();
    EXPECT_EQ(content_of(precious), text) << suffix;
    fs::remove(link);
    fs::remove(memory());
    fs::remove(memory().string() + ".lock");
  }
  const fs::path absent = folder_ / "absent";
  for (const char* suffix : {"", ".lock"}) {
    const fs::path link = memory().string() + suffix;
    fs::create_symlink(absent, link);
    testing::internal::CaptureStderr();
    remember_level("b", {2, 1});
    testing::internal::GetCapturedStderr();
    EXPECT_FALSE(fs::exists(absent)) << suffix;
    fs::remove(link);
    fs::remove(memory());
    fs::remove(memory().string() + ".lock");
  }
}

// The temporary file's name is made of the process's number and a count of writes, so another user can guess it.
TEST_F(ForeignFiles, LinksAtTheNamesOfANewMemoryAreNotFollowed) {
  const fs::path precious = folder_ / "precious";
  const fs::path absent = folder_ / "absent";
  write("precious", "to stay");
  constexpr int names = 2000;  // a call tries 1 000 of them, and the process has written less often than that
  const auto name_of_new = [&](int i) {
    return fs::path(memory().string() + "." + std::to_string(getpid()) + "-" + std::to_string(i) + ".new");
  };
  for (int i = 0; i < names; ++i) {
    if (i % 3 == 2) {
      fs::create_hard_link(precious, name_of_new(i));
    } else {
      fs::create_symlink(i % 3 == 0 ? precious : absent, name_of_new(i));
    }
  }
  EXPECT_FALSE(remember_level("b", {2, 1})) << "the links are not at the names that are tried";
  EXPECT_TRUE(remember_level("b", {2, 1}) || remember_level("b", {2, 1})) << "a name behind the links is free";
  EXPECT_TRUE(recall_level("b").at_once);
  EXPECT_FALSE(fs::is_symlink(memory()));
  EXPECT_EQ(content_of(precious), "to stay");
  EXPECT_FALSE(fs::exists(absent));
  for (int i = 0; i < names; ++i) {
    EXPECT_TRUE(i % 3 == 2 ? fs::equivalent(precious, name_of_new(i)) : fs::is_symlink(name_of_new(i))) << i;
  }
}

TEST_F(ForeignFiles, WhatBelongsToAnotherUserIsNoMemory) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can give files away";
  }
  const std::string file =
      write("state/dovetail/admission.json", "{\"version\": 1, \"devices\": {\"a\": {\"at_once\": 3}}}");
  EXPECT_TRUE(recall_level("a").at_once);
  ASSERT_EQ(chown(file.c_str(), 12345, 12345), 0);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(recall_level("a").at_once);
  testing::internal::GetCapturedStderr();
}

TEST_F(ForeignFiles, NothingIsLeftBesideTheMemory) {
  EXPECT_TRUE(remember_level("a", {2, 1}));
  EXPECT_TRUE(remember_level("b", {2, 1}));
  std::size_t entries = 0;
  for (const auto& entry : fs::directory_iterator(memory().parent_path())) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(name == "admission.json" || name == "admission.json.lock") << name;
    ++entries;
  }
  EXPECT_EQ(entries, 2U);
}

}  // namespace
}  // namespace dovetail::device
