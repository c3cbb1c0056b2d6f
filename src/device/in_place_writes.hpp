// Whether a core copies a small write into the page cache itself, which is several times cheaper than to hand it over.
#pragma once

#include <atomic>
#include <cstdint>

namespace dovetail::device {

/// What is known of one device. The kernel may hold a writer back until the device has caught up. Most file systems cannot say so beforehand
/// (`RWF_NOWAIT` is for reads there). So writes are made in place as long as none waits. One that takes long raises a doubt. For 64 times
/// its time it is then counted whether writes wait, which costs two system calls each. If one does, none is made in place for 64 times as
/// long as it took; the next ones are in doubt again. So a worker waits for two writes, and for a 64th of its time at most from then on. (A
/// writer that is held back waits at every so many pages, not at every write.) Thread-safe. Times are in ticks.
class InPlaceWrites {
 public:
  /// A write in place.
  struct Attempt {
    bool allowed;
    std::uint64_t begin;
    std::int64_t waits;  ///< Of this thread so far; -1: not counted.
  };
  /// Each one allowed is followed by one `ended`, on the same thread.
  Attempt begin(std::uint64_t now) noexcept {
    return state_.load(std::memory_order_relaxed) == trusted ? Attempt{true, now, -1} : begin_doubted(now);
  }
  void ended(const Attempt& attempt, std::uint64_t now, std::uint64_t bytes) noexcept {
    if (now - attempt.begin > longest(bytes)) [[unlikely]] {
      judge(attempt, now);
    }
  }

 private:
  static constexpr std::uint64_t trusted = 0;

  static std::uint64_t longest(std::uint64_t bytes) noexcept;
  Attempt begin_doubted(std::uint64_t now) noexcept;
  void judge(const Attempt& attempt, std::uint64_t now) noexcept;

  std::atomic<std::uint64_t> state_{
      trusted};                         ///< Else until when there is doubt, or no write; the lowest bits say which.
  std::atomic<std::uint64_t> span_{0};  ///< For how long there will be doubt after that.
};

}  // namespace dovetail::device
