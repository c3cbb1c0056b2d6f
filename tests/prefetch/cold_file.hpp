// What of a file is in the page cache, by the word of the kernel.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <string>
#include <thread>
#include <vector>

#include "base/byte_range.hpp"
#include "base/descriptor.hpp"
#include "base/random_bytes.hpp"
#include "device/support.hpp"

namespace dovetail::test {

/// Whether this kernel leaves pages in memory as long as there is enough of it. DAMON, if it was told to, does not.
inline bool pages_stay() {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::string name;
    if (std::ifstream(entry.path() / "comm") >> name && name.starts_with("kdamond")) {
      return false;
    }
  }
  return true;
}

/// A file on a disk, of which nothing is in the page cache.
class ColdFile {
 public:
  explicit ColdFile(std::size_t size, std::uint64_t start = 1) : content_(random_bytes(size, start)) {
    const base::Descriptor file(::open(path().c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644));
    EXPECT_EQ(::pwrite(file.get(), content_.data(), size, 0), static_cast<ssize_t>(size));
    forget();
  }
  std::string path() const { return folder_ / "data"; }
  const std::vector<std::byte>& content() const { return content_; }
  void forget() const {
    const base::Descriptor file(::open(path().c_str(), O_RDWR | O_CLOEXEC));
    EXPECT_EQ(::fsync(file.get()), 0);
    // The kernel leaves pages that it is just doing something with.
    do {
      EXPECT_EQ(posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
    } while (cached(0, content_.size()) != 0);
  }
  /// How many bytes of the range are there, in whole pages.
  std::size_t cached(std::uint64_t offset, std::size_t length) const {
    return 4096 * static_cast<std::size_t>(std::ranges::count(pages(offset, length), true));
  }
  /// So many bytes of the whole file are there, and no others; where the kernel drops pages, fewer may be.
  void expect_cached(std::size_t bytes) const {
    const std::size_t found = cached(0, content_.size());
    EXPECT_LE(found, bytes);
    if (pages_stay()) {
      EXPECT_EQ(found, bytes);
    }
  }
  /// Returns when each page of it has been there at some time: a kernel may drop any of them meanwhile (see `pages_stay`).
  void await(std::uint64_t offset, std::size_t length) const { await({{offset, length}}); }
  /// The same of several ranges. One that is waited for later than another may be gone before anybody looks at it.
  void await(std::initializer_list<base::ByteRange> ranges) const {
    std::vector<std::vector<bool>> seen;
    for (const base::ByteRange& range : ranges) {
      seen.emplace_back((range.length + 4095) / 4096);
    }
    const auto has_unseen = [](const std::vector<bool>& pages) {
      return std::ranges::find(pages, false) != pages.end();
    };
    while (std::ranges::any_of(seen, has_unseen)) {
      for (auto into = seen.begin(); const base::ByteRange& range : ranges) {
        const std::vector<bool> now = pages(range.offset, range.length);
        std::transform(into->begin(), into->end(), now.begin(), into->begin(), std::logical_or<>());
        ++into;
      }
      std::this_thread::yield();
    }
  }

 private:
  // For each page of the range, whether it is there.
  std::vector<bool> pages(std::uint64_t offset, std::size_t length) const {
    const base::Descriptor file(::open(path().c_str(), O_RDONLY | O_CLOEXEC));
    void* const mapped =
        mmap(nullptr, length, PROT_READ, MAP_SHARED, file.get(), static_cast<off_t>(offset));  // touches nothing
    EXPECT_NE(mapped, MAP_FAILED);
    std::vector<unsigned char> states((length + 4095) / 4096);
    EXPECT_EQ(mincore(mapped, length, states.data()), 0);
    munmap(mapped, length);
    std::vector<bool> found(states.size());
    std::transform(states.begin(), states.end(), found.begin(), [](unsigned char page) { return (page & 1) != 0; });
    return found;
  }

  Folder folder_;
  std::vector<std::byte> content_;
};

/// The beginning of a file, which stays in memory as long as this lives: a kernel that takes back what is seldom used leaves it.
class KeptInMemory {
 public:
  KeptInMemory(const std::string& path, std::size_t length) : length_(length) {
    const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    memory_ = mmap(nullptr, length, PROT_READ, MAP_SHARED, file.get(), 0);
    EXPECT_NE(memory_, MAP_FAILED);
    // By its number: the libraries of sanitizers have a function of this name that does nothing.
    is_kept_ = syscall(SYS_mlock, memory_, length) == 0;
  }
  ~KeptInMemory() { munmap(memory_, length_); }
  KeptInMemory(const KeptInMemory&) = delete;
  KeptInMemory& operator=(const KeptInMemory&) = delete;
  /// False: this process may not keep so much.
  bool is_kept() const noexcept { return is_kept_; }

 private:
  void* memory_ = nullptr;
  std::size_t length_;
  bool is_kept_ = false;
};

/// A variable of the environment, as long as it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

}  // namespace dovetail::test
