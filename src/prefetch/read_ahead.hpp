// Fetches what a program that reads in steps will ask for next: between two bursts of reads it computes, and the bytes of the next
// step come meanwhile.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/byte_range.hpp"
#include "base/memory_share.hpp"
#include "base/overlap.hpp"
#include "prefetch/file_version.hpp"
#include "prefetch/pattern.hpp"

namespace dovetail::prefetching {

/// Of all files together. Times in nanoseconds.
struct Statistics {
  /// It is told of fetching, and of waiting for it. It must outlive this.
  explicit Statistics(base::Overlap& told) noexcept : overlap(told) {}

  base::Overlap& overlap;
  std::atomic<std::uint64_t> bytes_fetched = 0;
  std::atomic<std::uint64_t> bytes_used = 0;  ///< Of these: those that the program has asked for.
  std::atomic<std::uint64_t> waited = 0;      ///< For transfers that had begun.

  /// Called while no transfer is counted.
  void reset() noexcept { bytes_fetched = bytes_used = waited = 0; }
};

/// Of one open file. One thread at a time calls its functions. None suspends the task that calls it.
class ReadAhead {
 public:
  /// Budget and statistics must outlive it, and the descriptor must stay open.
  ReadAhead(int descriptor, const base::LastingBudget& memory, Statistics& statistics);
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;
  /// As `stop`; then waits for tasks that read the file.
  ~ReadAhead();

  /// Copies to `target` what has been fetched of the beginning of the range, unless another program has changed the file since. Waits for what is being
  /// fetched. @returns bytes copied.
  std::size_t serve(base::ByteRange range, std::byte* target);
  /// The program has read the range, of a file of `size` bytes, since the time `begun`. Nothing may be on its way to the file. May make tasks.
  void follow(base::ByteRange range, std::uint64_t size, std::uint64_t begun);
  /// The file changes there.
  void forget(base::ByteRange range) noexcept;
  /// Nothing more is fetched.
  void stop() noexcept;
  bool stopped() const noexcept { return stopped_; }

 private:
  struct Block;
  using Blocks = std::map<std::uint64_t, std::shared_ptr<Block>>;

  bool note_version(const FileVersion& version) noexcept;
  std::shared_ptr<Block> new_block(std::size_t length);
  bool fetch(const Pattern::Guess& guess);
  Blocks::iterator drop(Blocks::iterator block) noexcept;
  void drop_passed(std::size_t stream, std::uint64_t end) noexcept;

  const int descriptor_;
  const base::LastingBudget memory_;
  Statistics& statistics_;
  bool stopped_ = false;
  FileVersion version_;
  std::uint64_t version_since_;  // at the latest, in nanoseconds
  Pattern pattern_;
  Blocks blocks_;
  std::vector<std::shared_ptr<Block>> spare_;    // whose memory is used again
  std::vector<std::shared_ptr<Block>> fetched_;  // blocks that a task may be reading into
};

}  // namespace dovetail::prefetching
