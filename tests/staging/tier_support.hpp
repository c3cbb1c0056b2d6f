// What the tests of the local tier share: calls that go wrong, and what a file should be.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random_bytes.hpp"
#include "device/support.hpp"
#include "staging/recovery.hpp"
#include "staging/tiered_file.hpp"

namespace dovetail::staging {

using base::ByteRange;
using test::Folder;
using Bytes = std::vector<std::byte>;

/// Calls of the system, each of which a test may forbid, shorten or watch. Thread-safe if the functions are.
class WatchedCalls : public FileCalls {
 public:
  enum class Kind { open, write, read, sync, resize, remove, attribute, writeback };
  struct Fault {
    int error = 0;                ///< This errno in place of the call.
    std::size_t most = SIZE_MAX;  ///< Bytes that are transferred.
  };
  struct Asked {
    Kind kind;
    int descriptor = -1;  ///< Of a folder for `open` and `remove`.
    std::uint64_t offset = 0;
    std::size_t bytes = 0;

    /// The file that it is about, or its folder.
    std::string path() const {
      return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor)).string();
    }
    bool is_log() const { return path().ends_with(".log"); }
  };
  std::function<Fault(const Asked&)> before = [](const Asked&) { return Fault{}; };
  std::function<void(CrashPoint)> at = [](CrashPoint) {};
  std::function<void(ByteRange)> at_writeback = [](ByteRange) {};

  int open(int folder, const char* name, int flags) noexcept override {
    const Fault fault = before({Kind::open, folder});
    return fault.error != 0 ? -fault.error : FileCalls::open(folder, name, flags);
  }
  std::int64_t write(int descriptor, std::span<const iovec> parts, std::uint64_t offset) noexcept override {
    std::size_t bytes = 0;
    for (const iovec& each : parts) {
      bytes += each.iov_len;
    }
    const Fault fault = before({Kind::write, descriptor, offset, bytes});
    if (fault.error != 0) {
      return -fault.error;
    }
    std::vector<iovec> shorter(parts.begin(), parts.end());
    std::size_t left = fault.most;
    for (iovec& each : shorter) {
      each.iov_len = std::min(each.iov_len, left);
      left -= each.iov_len;
    }
    return FileCalls::write(descriptor, shorter, offset);
  }
  std::int64_t read(int descriptor, std::span<std::byte> target, std::uint64_t offset) noexcept override {
    const Fault fault = before({Kind::read, descriptor, offset, target.size()});
    return fault.error != 0 ? -fault.error
                            : FileCalls::read(descriptor, target.first(std::min(target.size(), fault.most)), offset);
  }
  int sync(int descriptor, bool data_only) noexcept override {
    const Fault fault = before({Kind::sync, descriptor});
    return fault.error != 0 ? -fault.error : FileCalls::sync(descriptor, data_only);
  }
  int resize(int descriptor, std::uint64_t bytes) noexcept override {
    const Fault fault = before({Kind::resize, descriptor, bytes});
    return fault.error != 0 ? -fault.error : FileCalls::resize(descriptor, bytes);
  }
  int remove(int folder, const char* name) noexcept override {
    const Fault fault = before({Kind::remove, folder});
    return fault.error != 0 ? -fault.error : FileCalls::remove(folder, name);
  }
  void begin_writeback(int descriptor, std::uint64_t offset, std::size_t bytes) noexcept override {
    at_writeback({offset, bytes});
    FileCalls::begin_writeback(descriptor, offset, bytes);
  }
  int wait_for_writeback(int descriptor, std::uint64_t offset, std::size_t bytes) noexcept override {
    const Fault fault = before({Kind::writeback, descriptor, offset, bytes});
    return fault.error != 0 ? -fault.error : FileCalls::wait_for_writeback(descriptor, offset, bytes);
  }
  int set_attribute(int descriptor, const char* name, std::string_view value) noexcept override {
    const Fault fault = before({Kind::attribute, descriptor});
    return fault.error != 0 ? -fault.error : FileCalls::set_attribute(descriptor, name, value);
  }
  std::int64_t get_attribute(int descriptor, const char* name, std::span<char> value) noexcept override {
    const Fault fault = before({Kind::attribute, descriptor});
    return fault.error != 0 ? -fault.error : FileCalls::get_attribute(descriptor, name, value);
  }
  std::int64_t list_attributes(int descriptor, std::span<char> names) noexcept override {
    const Fault fault = before({Kind::attribute, descriptor});
    return fault.error != 0 ? -fault.error : FileCalls::list_attributes(descriptor, names);
  }
  int remove_attribute(int descriptor, const char* name) noexcept override {
    const Fault fault = before({Kind::attribute, descriptor});
    return fault.error != 0 ? -fault.error : FileCalls::remove_attribute(descriptor, name);
  }
  void reached(CrashPoint point) noexcept override { at(point); }
};

/// A file as it should be.
class PlainModel {
 public:
  Bytes bytes;

  void write(std::uint64_t offset, std::span<const std::byte> data) {
    bytes.resize(std::max<std::size_t>(bytes.size(), offset + data.size()));
    std::ranges::copy(data, bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  void set_size(std::uint64_t size) { bytes.resize(size); }
  Bytes part(std::uint64_t offset, std::size_t length) const {
    const std::size_t begin = std::min<std::size_t>(offset, bytes.size());
    const std::size_t end = std::min(begin + length, bytes.size());
    return {bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.begin() + static_cast<std::ptrdiff_t>(end)};
  }
};

/// A change of a file, chosen at random, the same for the same numbers.
struct Change {
  bool is_write = true;
  std::uint64_t offset = 0;  ///< Or the size.
  Bytes data;

  static Change some(std::uint64_t start, std::uint64_t number, std::size_t file_bytes, std::size_t most_bytes) {
    std::mt19937_64 random(start * 1'000'003 + number);
    random.discard(2);
    Change change;
    change.is_write = random() % 8 != 0;
    change.offset = random() % file_bytes;
    if (change.is_write) {
      const std::size_t length = 1 + random() % (random() % 4 == 0 ? most_bytes : 1 + most_bytes / 50);
      change.data = test::random_bytes(length, random());
    }
    return change;
  }
  void make(PlainModel& model) const {
    if (is_write) {
      model.write(offset, data);
    } else {
      model.set_size(offset);
    }
  }
  FileFailure make(TieredFile& file) const { return is_write ? file.write(offset, data) : file.set_size(offset); }
};

inline Bytes bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Bytes bytes(static_cast<std::size_t>(std::filesystem::file_size(path)));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  return bytes;
}

inline void put(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

/// Says where two files differ, rather than all of them.
inline testing::AssertionResult same(const Bytes& seen, const Bytes& expected) {
  if (seen.size() != expected.size()) {
    return testing::AssertionFailure() << seen.size() << " bytes, expected " << expected.size();
  }
  // Tests are not optimised.
  if (seen.empty() || std::memcmp(seen.data(), expected.data(), seen.size()) == 0) {
    return testing::AssertionSuccess();
  }
  const auto [at, other] = std::ranges::mismatch(seen, expected);
  return testing::AssertionFailure() << "byte " << at - seen.begin() << " of " << seen.size();
}

/// A final file, and a folder for its log.
class TierTest : public testing::Test {
 protected:
  TierTest() {
    put(final_path, {});
    std::filesystem::create_directory(tier);
    const FolderName name = folder_of(tier, final_path);
    EXPECT_EQ(name.failure.text(), "");
    log = name.folder;
    final_path = name.final_path;
    settings.segment_bytes = 20'000;
    settings.drain = {.stripe_bytes = 4096, .request_bytes = 16384};
    settings.calls = &calls;
  }
  std::unique_ptr<TieredFile> open() const {
    TieredFile::Opened opened = TieredFile::open(log, final_path, settings);
    EXPECT_EQ(opened.failure.text(), "");
    return std::move(opened.file);
  }
  static Bytes read(const TieredFile& file, std::uint64_t offset, std::size_t length) {
    Bytes target(length, std::byte{0xEE});
    const TieredFile::Read got = file.read(offset, target);
    EXPECT_EQ(got.failure.text(), "");
    target.resize(got.bytes);
    return target;
  }
  static Bytes all_of(const TieredFile& file) { return read(file, 0, file.size() + 10); }
  /// In their order.
  std::vector<std::string> segments() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(log)) {
      if (entry.path().extension() == ".log") {
        found.push_back(entry.path());
      }
    }
    std::ranges::sort(found);
    return found;
  }

  Folder folder;
  std::string final_path = folder / "final";
  std::string tier = std::filesystem::absolute(folder / "tier");
  std::string log;
  WatchedCalls calls;
  TierSettings settings;
};

}  // namespace dovetail::staging
