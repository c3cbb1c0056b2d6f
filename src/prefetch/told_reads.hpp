// What one reader of a file reads, in the form in which a detector is told of it.
#pragma once

#include <atomic>
#include <cstdint>

namespace dovetail::prefetching {

/// What is read in sequence is told in pieces of 256 KiB. Any thread and any signal handler may call it: what several do at a time may be told in other
/// pieces. All bytes zero is a reader that was not seen yet.
class ToldReads {
 public:
  /// Calls `tell(offset, bytes)` for what the detector is to know now: nothing, this read, or what came before it as well.
  template <class Tell>
  void note(std::uint64_t offset, std::uint64_t bytes, const Tell& tell) noexcept {
    const std::uint32_t resting = resting_.load(std::memory_order_relaxed);
    if (resting != 0) {
      resting_.store(resting - 1, std::memory_order_relaxed);
      return;
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
      tell(noted, offset + bytes - noted);
      return;
    }
    if (next > noted) {
      tell(noted, next - noted);
    }
    tell(offset, bytes);
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
