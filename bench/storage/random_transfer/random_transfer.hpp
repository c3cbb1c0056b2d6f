// The problem: transfers of one size at random places of one file, past the page cache. `depth` of them are under way at any time, for a given
// time. Every block of the file holds its own number, so that each answer can be checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/harness.hpp"

namespace bench {

class RandomTransfer {
 public:
  explicit RandomTransfer(CommandLine& line);

  /// Makes the file if it is not there yet. After the command line was read.
  void prepare();

  const std::string& path() const noexcept { return path_; }
  bool writes() const noexcept { return operation_ == "write"; }
  std::size_t block() const noexcept { return static_cast<std::size_t>(block_); }
  std::size_t depth() const noexcept { return static_cast<std::size_t>(depth_); }
  std::int64_t milliseconds() const noexcept { return milliseconds_; }
  std::int64_t file_bytes() const noexcept { return megabytes_ << 20; }

  /// One of the `depth` sequences of transfers, each of which waits for the one before.
  struct Chain {
    std::uint64_t random = 0;
    std::byte* buffer = nullptr;
    std::uint64_t offset = 0;
    std::int64_t started = 0;
    std::vector<std::uint32_t> latencies;  ///< Microseconds times 10.
    std::uint64_t wrong = 0;
  };
  /// Resets the chains and begins to count time.
  void begin();
  Chain& chain(std::size_t index) noexcept { return chains_[index]; }
  /// Chooses the place of the next transfer and fills the buffer of a write. False when the time is over.
  bool next(Chain& chain) noexcept;
  /// The transfer has ended: `result` is what it returned.
  void ended(Chain& chain, std::int64_t result) noexcept;
  /// Adds what was measured since `begin`.
  void report(Report& report);

  /// Warms up and measures as the command line says; `run` performs transfers until `next` says no.
  template <class Run>
  int measure(Run&& run) {
    Report report(line_);
    for (int i = 0; i < line_.warmup() + line_.repeat(); ++i) {
      begin();
      run();
      if (i >= line_.warmup()) this->report(report);
    }
    return report.finish();
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };

  CommandLine& line_;
  const std::int64_t& block_;
  const std::int64_t& depth_;
  const std::int64_t& milliseconds_;
  const std::int64_t& megabytes_;
  const std::string& operation_;
  std::string path_;
  std::unique_ptr<std::byte, Free> memory_;
  std::vector<Chain> chains_;
  std::int64_t end_ = 0;
  std::int64_t begun_ = 0;
  std::int64_t cpu_begun_ = 0;
  std::int64_t machine_begun_ = 0;
};

}  // namespace bench
