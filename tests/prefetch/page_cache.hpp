// What of a file is in the page cache, by the word of the kernel.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.hpp"
#include "base/random_bytes.hpp"
#include "device/support.hpp"

namespace dovetail::test {

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
    EXPECT_EQ(posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  }
  /// How many bytes of the range have arrived, in whole pages.
  std::size_t cached(std::uint64_t offset, std::size_t length) const {
    const base::Descriptor file(::open(path().c_str(), O_RDONLY | O_CLOEXEC));
    void* const mapped =
        mmap(nullptr, length, PROT_READ, MAP_SHARED, file.get(), static_cast<off_t>(offset));  // touches nothing
    EXPECT_NE(mapped, MAP_FAILED);
    std::vector<unsigned char> pages((length + 4095) / 4096);
    EXPECT_EQ(mincore(mapped, length, pages.data()), 0);
    munmap(mapped, length);
    return 4096 *
           static_cast<std::size_t>(std::ranges::count_if(pages, [](unsigned char page) { return (page & 1) != 0; }));
  }
  /// Returns when all of it has arrived.
  void await(std::uint64_t offset, std::size_t length) const {
    while (cached(offset, length) < length) {
      std::this_thread::yield();
    }
  }

 private:
  Folder folder_;
  std::vector<std::byte> content_;
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
