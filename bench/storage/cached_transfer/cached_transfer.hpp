// The problem: reads or writes of a file that lies in the page cache, in streams of one after the other. An operation is one of them.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "harness/harness.hpp"

namespace bench {

class CachedTransfer {
 public:
  explicit CachedTransfer(CommandLine& line)
      : operation_(line.choice("operation", {"read", "write"}, "which way")),
        block_(line.size("block", 4096, "bytes of a transfer")),
        transfers_(line.size("transfers", 200'000, "transfers of all together")),
        streams_(line.size("streams", 1, "tasks or threads that transfer side by side")),
        megabytes_(line.size("megabytes", 64, "size of the file")) {}

  /// Makes the file and reads it once.
  void prepare() {
    if (blocks() % streams_ != 0) {
      std::fprintf(stderr, "--streams %lld: the file's %lld blocks cannot be divided among so many\n",
                   static_cast<long long>(streams_), static_cast<long long>(blocks()));
      std::exit(2);
    }
    path_ = folder_for_files() + "/dovetail-bench-cached.data";
    descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644);
    std::vector<std::uint64_t> data(static_cast<std::size_t>(megabytes_) << 17);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = i * 8;
    const std::size_t bytes = data.size() * 8;
    if (descriptor_ < 0 || pwrite(descriptor_, data.data(), bytes, 0) != static_cast<ssize_t>(bytes)) {
      die(path_);
    }
    unlink(path_.c_str());
    buffers_.assign(static_cast<std::size_t>(streams_), std::vector<std::byte>(block()));
  }

  bool writes() const noexcept { return operation_ == "write"; }
  int descriptor() const noexcept { return descriptor_; }
  std::size_t block() const noexcept { return static_cast<std::size_t>(block_); }
  std::int64_t transfers() const noexcept { return transfers_; }
  std::int64_t streams() const noexcept { return streams_; }
  /// The buffer of the stream that a transfer belongs to. A stream makes every `streams()`-th transfer, from that of its own number on.
  std::byte* buffer(std::int64_t transfer) noexcept {
    return buffers_[static_cast<std::size_t>(transfer % streams_)].data();
  }
  /// Two transfers of one block belong to one stream, so that their order is certain: the number of blocks is a multiple of the streams.
  std::uint64_t offset(std::int64_t transfer) const noexcept {
    return static_cast<std::uint64_t>(transfer) * 7919 % static_cast<std::uint64_t>(blocks()) * block();
  }
  /// To be called before each transfer: a write gets bytes that tell where and when it was made.
  void begins(std::int64_t transfer) noexcept {
    const std::uint64_t first = offset(transfer) + static_cast<std::uint64_t>(transfer);
    if (writes()) __builtin_memcpy(buffer(transfer), &first, sizeof first);
  }
  /// To be called after each transfer.
  void ended(std::int64_t transfer, std::int64_t moved) noexcept {
    if (moved != block_ || (!writes() && first(transfer) != offset(transfer))) ++wrong_;
  }
  /// Of the writes, the last one into each block must be found.
  std::string what_is_wrong() {
    for (std::int64_t i = std::max<std::int64_t>(0, transfers_ - blocks()); writes() && i < transfers_; ++i) {
      const ssize_t moved = pread(descriptor_, buffer(i), block(), static_cast<off_t>(offset(i)));
      if (moved != block_ || first(i) != offset(i) + static_cast<std::uint64_t>(i)) ++wrong_;
    }
    return wrong_ == 0 ? std::string() : std::to_string(wrong_) + " transfers moved the wrong bytes";
  }

 private:
  std::int64_t blocks() const noexcept { return (megabytes_ << 20) / block_; }
  std::uint64_t first(std::int64_t transfer) noexcept {
    std::uint64_t first = 0;
    __builtin_memcpy(&first, buffer(transfer), sizeof first);
    return first;
  }

  const std::string& operation_;
  const std::int64_t& block_;
  const std::int64_t& transfers_;
  const std::int64_t& streams_;
  const std::int64_t& megabytes_;
  std::string path_;
  int descriptor_ = -1;
  std::vector<std::vector<std::byte>> buffers_;
  std::atomic<std::uint64_t> wrong_{0};
};

}  // namespace bench
