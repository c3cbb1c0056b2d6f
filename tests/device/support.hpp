// What the tests of devices share, and those of the rooms above.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>

namespace dovetail::test {

/// A folder of its own on the file system of the build tree, removed at the end.
class Folder {
 public:
  Folder() {
    const char* build = std::getenv("DOVETAIL_BUILD_DIR");
    std::string pattern = std::string(build != nullptr ? build : ".") + "/storage-test-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::system_error(errno, std::generic_category(), pattern);
    }
    path_ = pattern;
  }
  ~Folder() {
    const int ignored = std::system(("rm -rf '" + path_ + "'").c_str());
    (void)ignored;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Makes a file, and the folders above it.
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = *this / name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }

 private:
  std::string path_;
};

/// The seed of this run: from DOVETAIL_TEST_SEED, or fresh. Printed, so that a failure can be repeated.
inline std::uint64_t seed() {
  static const std::uint64_t value = [] {
    const char* given = std::getenv("DOVETAIL_TEST_SEED");
    const std::uint64_t chosen = given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
    std::cout << "DOVETAIL_TEST_SEED=" << chosen << std::endl;
    return chosen;
  }();
  return value;
}

/// What it says when it refuses its arguments.
inline std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "not refused";
}

}  // namespace dovetail::test
