// How much of the processor a slice used. A thread that blocks in the operating system inside of a body computes nothing. Only the thread's own
// clock shows that, and reading it is a system call. So it is read about once for each long slice, and never for short ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dovetail::trace {

/// Slices shorter than this count as computing: 0.2 to 1 ms of a processor's counter, 1 ms of the other clock.
constexpr std::uint64_t long_slice_ticks = 1'000'000;

/// Of one thread, used by it only. Slices may nest.
class SliceClock {
 public:
  void begin(std::uint64_t task, std::uint64_t ticks) noexcept;
  /// @returns Nanoseconds of the processor that the slice used, with what ran inside of it, plus 1; 0: not measured. May say up to
  /// `long_slice_ticks` too much, never too little.
  std::uint64_t end(std::uint64_t task, std::uint64_t ticks) noexcept;
  /// A new recording begins.
  void clear() noexcept { depth_ = 0; }

 private:
  struct Open {
    std::uint64_t task;
    std::uint64_t ticks;
    std::uint64_t processor;
  };
  static constexpr std::size_t most = 32;  // of what nests deeper nothing is measured

  void look(std::uint64_t ticks) noexcept;

  std::array<Open, most> open_;
  std::size_t depth_ = 0;
  std::uint64_t looked_at_ = 0;  // ticks
  std::uint64_t processor_ = 0;  // nanoseconds that the thread's clock showed then
};

}  // namespace dovetail::trace
