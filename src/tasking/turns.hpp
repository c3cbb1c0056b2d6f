// When a worker takes a task from the queues that come last, and from which of them. See docs/design/stealing.md, "Nothing ready starves".
#pragma once

#include <cstdint>

namespace dovetail::tasking {

class Turns {
 public:
  enum class Queue : std::uint8_t { urgent, outside, gave_way, given, own, tied, deferred };
  static constexpr unsigned queues = 7;

  /// The worker looks for its next task.
  void count() noexcept { ++tick_; }
  /// Whether this is one look in so many.
  bool is_one_in(std::uint32_t looks) const noexcept { return tick_ % looks == 0; }
  bool next_is_one_in(std::uint32_t looks) const noexcept { return (tick_ + 1) % looks == 0; }

  bool is_due() const noexcept { return static_cast<std::int32_t>(tick_ - next_) >= 0; }
  /// The next turn comes after so many tasks; sooner where bodies are so long that it does not show.
  void plan(bool long_bodies) noexcept { next_ = tick_ + (long_bodies ? 8 : 64); }
  /// A resumed task, whose time may have come, goes before a turn, once.
  bool resumed_goes_first() const noexcept { return !resumed_went_; }
  void resumed_went_first() noexcept {
    resumed_went_ = true;
    next_ = tick_ + 1;
  }
  /// Whose turn it is.
  Queue pass_on() noexcept {
    resumed_went_ = false;
    const auto queue = static_cast<Queue>(queue_);
    queue_ = static_cast<std::uint8_t>((queue_ + 1) % queues);
    return queue;
  }
  /// A turn is due while a body runs its children on top of it, and no other queue is known to have anything. Whether it is given up all
  /// the same.
  bool is_given_up_on_top() noexcept { return ++kept_on_top_ % 16 == 0; }

 private:
  std::uint32_t tick_ = 0;
  std::uint32_t next_ = 0;
  std::uint32_t kept_on_top_ = 0;
  std::uint8_t queue_ = 0;
  bool resumed_went_ = false;
};

}  // namespace dovetail::tasking
