// Which thread does a piece of work that several could do: a task in the background, or the first thread that needs its result. So no thread
// waits for a task that has not begun.
#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace dovetail::base {

/// Thread-safe.
class Claim {
 public:
  Claim() noexcept : process_(getpid()) {}
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  /// Whether the work is the caller's from now on, until `end` or `give_back`. False: another thread has it, or it has ended.
  bool take() noexcept {
    State expected = State::free;
    return state_.compare_exchange_strong(expected, State::taken, std::memory_order_acquire);
  }
  /// It has not been done, and may be by others.
  void give_back() noexcept { change_to(State::free); }
  /// It has been done, or will not be. A thread that sees that it has ended sees all that was written before.
  void end() noexcept { change_to(State::ended); }

  bool ended() const noexcept { return state_.load(std::memory_order_acquire) == State::ended; }
  /// Returns when no thread has it any more. In the child of a fork, the parent's threads have nothing.
  void wait() const noexcept {
    while (state_.load(std::memory_order_acquire) == State::taken && !is_of_parent()) {
      state_.wait(State::taken, std::memory_order_acquire);
    }
  }
  /// Whether it was made before this process was forked.
  bool is_of_parent() const noexcept { return process_ != getpid(); }

 private:
  enum class State : std::uint32_t { free, taken, ended };

  void change_to(State state) noexcept {
    state_.store(state, std::memory_order_release);
    state_.notify_all();
  }

  std::atomic<State> state_ = State::free;
  const pid_t process_;
};

}  // namespace dovetail::base
