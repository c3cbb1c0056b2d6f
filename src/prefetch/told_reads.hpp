// What one reader of a file reads, in the form in which a detector is told of it.
#pragma once

#include <atomic>
#include <cstdint>

namespace dovetail::prefetching {

/// What is read in sequence is told in pieces of 256 KiB. Any thread and any signal handler may call it: what several do at a time may be told in other
/// pieces. All bytes zero is a reader that was not seen yet.
class ToldReads {
 public:
  /// Calls `tell(offset, bytes, resting)` for what the file is to know now: nothing, this read, or what came before it as well. `resting`: the detector
  /// need not be told. `all_rest`: nor what else knows of the file, so that nothing is told meanwhile.
  template <class Tell>
  void note(std::uint64_t offset, std::uint64_t bytes, bool all_rest, const Tell& tell) noexcept {
    const std::uint32_t left = resting_.load(std::memory_order_relaxed);
    if (left != 0) {
      resting_.store(left - 1, std::memory_order_relaxed);
      if (all_rest) {
        return;
      }
    }
    const std::uint64_t next = next_.load(std::memory_order_relaxed);
    std::uint64_t noted = noted_.load(std::memory_order_relaxed);
    // One thread keeps these less than that apart. Of several that share the reader, each may have stored one of the two.
    if (next - noted >= told_at_once) {
      noted = next;
    }
    next_.store(offset + bytes, std::memory_order_relaxed);
    if (offset == next && offset + bytes - noted < told_at_once) {
      return;
    }
    noted_.store(offset + bytes, std::memory_order_relaxed);
    if (offset == next) {
      tell(noted, offset + bytes - noted, left != 0);
      return;
    }
    if (next > noted) {
      tell(noted, next - noted, left != 0);
    }
    tell(offset, bytes, left != 0);
  }
  /// The detector is not told of so many reads.
  void rest(std::uint32_t reads) noexcept { resting_.store(reads, std::memory_order_relaxed); }
  /// Where reading in sequence would go on.
  std::uint64_t next() const noexcept { return next_.load(std::memory_order_relaxed); }
  void forget() noexcept {
    next_.store(0, std::memory_order_relaxed);
    noted_.store(0, std::memory_order_relaxed);
    resting_.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t told_at_once = 256U << 10;

  std::atomic<std::uint64_t> next_;
  std::atomic<std::uint64_t> noted_;  // up to where the detector was told of what is read in sequence
  std::atomic<std::uint32_t> resting_;
};

}  // namespace dovetail::prefetching
