/// @file
/// A lock, a semaphore, a latch and a barrier. While a task waits for one, its core runs other tasks. Waits end in the order in which they began.
///
/// In a task, a call that waits suspends the task, which may go on on another operating-system thread unless it is `.tied`. On any other
/// thread, and in I/O tasks, it blocks the thread. Not for `onready` and other functions that must not wait. A wait is not ended by
/// `FutureBase::cancel`. A task that waits for ever is named on standard error after `Options::report_after`, with what it waits for.
///
/// All functions may be called from any thread. Destroy an object only when no call on it is under way and none will follow.
#pragma once

#include <cstdint>
#include <mutex>

namespace dovetail {

namespace detail {
struct Waiting;
/// Those that wait, by arrival.
struct WaitingLine {
  Waiting* first = nullptr;
  Waiting* last = nullptr;
};
}  // namespace detail

/// So many units of something, such as bytes of memory or connections, of which each user takes some.
class Semaphore {
 public:
  /// With so many units at first.
  explicit Semaphore(std::uint64_t units) noexcept : available_(units) {}
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  /// Waits until `units` are available and all earlier calls have got theirs, then takes them. So small requests do not overtake a large one.
  /// May suspend. @throws Stuck if the runtime finds the program stuck (see `Options::stuck_after`); then it has taken no units.
  void acquire(std::uint64_t units = 1);
  /// Takes `units` if that is possible at once.
  bool try_acquire(std::uint64_t units = 1) noexcept;
  /// Gives back `units`, or adds new ones. Never suspends.
  void release(std::uint64_t units = 1) noexcept;
  /// Units that can be taken now. Other threads may change the number before the caller looks at it.
  std::uint64_t available() const noexcept;

 private:
  mutable std::mutex mutex_;
  std::uint64_t available_;
  detail::WaitingLine line_;
};

/// A lock that may be held across a pause, and on whichever thread the task goes on. Works with `std::lock_guard`, `std::unique_lock`
/// and `std::scoped_lock`. Not recursive.
class Mutex {
 public:
  Mutex() noexcept = default;
  /// May suspend. @throws Stuck as `Semaphore::acquire`.
  void lock() { free_.acquire(); }
  /// Takes the lock if that is possible at once.
  bool try_lock() noexcept { return free_.try_acquire(); }
  /// By whoever holds it. The one who has waited longest has it then. Never suspends.
  void unlock() noexcept { free_.release(); }

 private:
  Semaphore free_{1};
};

/// Opens once it has been counted down to zero, and stays open.
class Latch {
 public:
  /// Opens after so many steps.
  explicit Latch(std::uint64_t count) noexcept : count_(count) {}
  Latch(const Latch&) = delete;
  Latch& operator=(const Latch&) = delete;

  /// Never suspends. Together with what was counted before, at most the count of the constructor.
  void count_down(std::uint64_t steps = 1) noexcept;
  /// Whether it is open.
  bool try_wait() const noexcept;
  /// Returns when it is open. May suspend. @throws Stuck as `Semaphore::acquire`.
  void wait();
  /// Counts down, then waits.
  void arrive_and_wait(std::uint64_t steps = 1) {
    count_down(steps);
    wait();
  }

 private:
  mutable std::mutex mutex_;
  std::uint64_t count_;
  detail::WaitingLine line_;
};

/// Lets nobody pass until all have arrived, phase after phase.
class Barrier {
 public:
  /// For so many participants: at least 1.
  explicit Barrier(std::uint64_t participants) noexcept : participants_(participants) {}
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;

  /// Returns when all participants of this phase have arrived. May suspend. @throws Stuck as `Semaphore::acquire`; the arrival counts
  /// all the same.
  void arrive_and_wait();
  /// Arrives without waiting, and takes part in no later phase. Never suspends.
  void arrive_and_drop() noexcept;

 private:
  void pass(std::unique_lock<std::mutex>& lock) noexcept;
  std::mutex mutex_;
  std::uint64_t participants_;
  std::uint64_t arrived_ = 0;
  detail::WaitingLine line_;
};

}  // namespace dovetail
