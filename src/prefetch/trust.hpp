// Whether one reader of a file reads what the guesses foretell. Others of the same file may not.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "prefetch/detector.hpp"

namespace dovetail::prefetching {

/// Any thread and any signal handler may call it. All bytes zero is a reader that was not seen yet.
class Trust {
 public:
  /// What the detector said to a read of this reader.
  void note(Detector::Noted noted) noexcept {
    const std::uint32_t before = value_.load(std::memory_order_relaxed);
    if (noted == Detector::Noted::foretold) {
      value_.store(std::min(before + 1, most), std::memory_order_relaxed);
    } else if (noted == Detector::Noted::no_pattern) {
      lose();
    } else if (noted != Detector::Noted::foretold_in_part) {
      value_.store(before < 2 ? 0 : before - 2, std::memory_order_relaxed);
    }
  }
  void lose() noexcept { value_.store(0, std::memory_order_relaxed); }
  /// The system need not read ahead itself.
  bool is_enough() const noexcept { return value_.load(std::memory_order_relaxed) >= enough; }

 private:
  static constexpr std::uint32_t enough = 8;
  static constexpr std::uint32_t most = 16;

  std::atomic<std::uint32_t> value_;
};

}  // namespace dovetail::prefetching
