// The problem: reads of a file that lies in the page cache, one after the other. An operation is a read.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "harness/harness.hpp"

namespace bench {

class CachedRead {
 public:
  explicit CachedRead(CommandLine& line)
      : block_(line.size("block", 4096, "bytes of a read")),
        reads_(line.size("reads", 200'000, "reads of all together")),
        megabytes_(line.size("megabytes", 64, "size of the file")) {}

  /// Makes the file and reads it once.
  void prepare() {
    const char* folder = std::getenv("DOVETAIL_BENCH_DIR");
    path_ = std::string(folder != nullptr ? folder : ".") + "/dovetail-bench-cached.data";
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644);
    std::vector<std::uint64_t> data(static_cast<std::size_t>(megabytes_) << 17);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = i * 8;
    const std::size_t bytes = data.size() * 8;
    if (descriptor_ < 0 || pwrite(descriptor_, data.data(), bytes, 0) != static_cast<ssize_t>(bytes)) {
      std::perror(path_.c_str());
      std::exit(2);
    }
    unlink(path_.c_str());
    buffer_.resize(block());
  }

  int descriptor() const noexcept { return descriptor_; }
  std::size_t block() const noexcept { return static_cast<std::size_t>(block_); }
  std::int64_t reads() const noexcept { return reads_; }
  std::byte* buffer() noexcept { return buffer_.data(); }
  std::uint64_t offset(std::int64_t read) const noexcept {
    const std::uint64_t blocks = (static_cast<std::uint64_t>(megabytes_) << 20) / block();
    return static_cast<std::uint64_t>(read) * 7919 % blocks * block();
  }
  /// The read has ended. Also notes for how long the core was kept: since `since`.
  void ended(std::int64_t read, std::int64_t moved) noexcept {
    std::uint64_t first = 0;
    __builtin_memcpy(&first, buffer_.data(), sizeof first);
    if (moved != block_ || first != offset(read)) ++wrong_;
  }
  std::string what_is_wrong() const {
    return wrong_ == 0 ? std::string() : std::to_string(wrong_) + " reads gave the wrong bytes";
  }

 private:
  const std::int64_t& block_;
  const std::int64_t& reads_;
  const std::int64_t& megabytes_;
  std::string path_;
  int descriptor_ = -1;
  std::vector<std::byte> buffer_;
  std::uint64_t wrong_ = 0;
};

}  // namespace bench
