// What the tests of staging share.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "staging/stage.hpp"
#include "staging/staged_file.hpp"
#include "storage/fault_folder.hpp"
#include "tasking/background.hpp"

namespace dovetail::staging {

using base::ByteRange;
using test::FaultFolder;
using test::Folder;

constexpr std::size_t kibibyte = std::size_t{1} << 10;
constexpr std::size_t mebibyte = std::size_t{1} << 20;

inline std::vector<std::byte> filled(std::size_t bytes, int value) {
  return std::vector<std::byte>(bytes, static_cast<std::byte>(value));
}

/// A stage of its own, on a file system that can hold its transfers back.
class StagingTest : public testing::Test {
 protected:
  StagingTest() : stage(std::make_shared<Stage>(budget, overlap)) {}
  void SetUp() override {
    if (!device.available()) {
      GTEST_SKIP() << "no file system with faults can be mounted here";
    }
  }
  void TearDown() override {
    if (device.available()) {
      device.rules("");
    }
    std::uint64_t waited = 0;
    stage->drain(waited);
    tasking::end_background();
  }

  std::unique_ptr<StagedFile> open(const std::string& path, int flags = O_RDWR | O_CREAT) const {
    const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0644);
    struct stat status{};
    EXPECT_EQ(fstat(descriptor, &status), 0) << path;
    return std::make_unique<StagedFile>(*stage, OpenedFile{.path = path,
                                                           .descriptor = descriptor,
                                                           .writable = (flags & O_ACCMODE) != O_RDONLY,
                                                           .device = status.st_dev,
                                                           .inode = status.st_ino,
                                                           .size = static_cast<std::uint64_t>(status.st_size)});
  }
  static int write(StagedFile& file, std::uint64_t offset, std::span<const std::byte> data,
                   const WriteRequest& how = {.purpose = {"test", nullptr}}) {
    return file.write({offset, data.size()}, data.data(), how).error;
  }
  /// What the file's owner sees.
  static std::vector<std::byte> read(StagedFile& file, ByteRange range, int* error = nullptr) {
    std::vector<std::byte> target(range.length, std::byte{0xEE});
    std::vector<ByteRange> gaps;
    bool quiet = false;
    Answer answer = file.read_pending(range, target.data(), gaps, quiet);
    for (const ByteRange& gap : gaps) {
      if (answer.error == 0) {
        answer = file.read(gap, target.data() + (gap.offset - range.offset));
      }
    }
    EXPECT_TRUE(error != nullptr || answer.error == 0) << answer.error;
    if (error != nullptr) {
      *error = answer.error;
    }
    return target;
  }
  static std::string settle(StagedFile& file) {
    std::uint64_t waited = 0;
    return file.settle(waited);
  }
  static std::string close(StagedFile& file) {
    std::uint64_t waited = 0;
    return file.close(waited);
  }
  static std::vector<std::byte> contents(const std::string& path) {
    const std::string text = test::contents(path);
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
  }
  FaultFolder device;
  Folder folder;  // past all rules
  base::MemoryBudget budget{16 * mebibyte};
  base::Overlap overlap;
  std::shared_ptr<Stage> stage;
};

}  // namespace dovetail::staging
