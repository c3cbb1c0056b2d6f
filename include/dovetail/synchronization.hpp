/// @file
/// A lock, a semaphore, a latch and a barrier. While a task waits for one, its core runs other tasks. Waits end in the order in which they began.
///
/// In a task, a call that waits suspends the task, which may go on on another operating-system thread unless it is `.tied`. On any other
/// thread, and in I/O tasks, it blocks the thread. In an `onready` or a callback, on a thread of the runtime, it throws `std::logic_error`. A wait is not
/// ended by `FutureBase::cancel`; `select` (dovetail/select.hpp) waits until a stop is requested. When nothing has run for
/// `Options::report_after`, a task that waits is named on standard error, with what it waits for.
///
/// All functions may be called from any thread. Destroy an object only when no call on it is under way and none will follow.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

namespace dovetail {

namespace detail {
class Selecting;
struct Waiting;
/// Those that wait, by arrival.
struct WaitingLine {
  Waiting* first = nullptr;
  Waiting* last = nullptr;
};

template <class Rep, class Period>
constexpr std::chrono::nanoseconds in_nanoseconds(const std::chrono::duration<Rep, Period>& duration) {
  constexpr auto longest = std::chrono::nanoseconds::max();
  if (std::chrono::duration<double>(duration) >= std::chrono::duration<double>(longest)) {
    return longest;
  }
  return std::chrono::ceil<std::chrono::nanoseconds>(duration);
}
}  // namespace detail

/// A number of units of something, such as bytes of memory or connections, of which each user takes some.
class Semaphore {
 public:
  /// With this number of units at first.
  explicit Semaphore(std::uint64_t units) noexcept : available_(units) {}
  Semaphore(const Semaphore&) = delete;
  Semaphore& operator=(const Semaphore&) = delete;

  /// Waits until `units` are available and all earlier calls have got theirs, then takes them. So small requests do not overtake a large one.
  /// May suspend. @throws Stuck if the runtime finds the program stuck (see `Options::stuck_after`); then it has taken no units.
  void acquire(std::uint64_t units = 1);
  /// As `acquire`, for `at_most` so long. @returns Whether the units have been taken. @throws As `acquire`.
  bool try_acquire_for(std::chrono::nanoseconds at_most, std::uint64_t units = 1);
  /// Takes `units` if that is possible at once.
  bool try_acquire(std::uint64_t units = 1) noexcept;
  /// Gives back `units`, or adds new ones. Never suspends.
  void release(std::uint64_t units = 1) noexcept;
  /// Units that can be taken now. Other threads may change the number before the caller looks at it.
  std::uint64_t available() const noexcept;

 private:
  friend class detail::Selecting;
  bool enter(detail::Waiting& waiting) noexcept;
  void leave(detail::Waiting& waiting) noexcept;
  void serve(std::unique_lock<std::mutex>& lock) noexcept;
  mutable std::mutex mutex_;
  std::uint64_t available_;
  detail::WaitingLine line_;
};

/// A lock that may be held across a pause, and on whichever thread the task goes on. Works with `std::lock_guard`, `std::unique_lock`,
/// also with a limit of time, and `std::scoped_lock`. Not recursive.
class Mutex {
 public:
  Mutex() noexcept = default;
  /// May suspend. @throws Stuck as `Semaphore::acquire`.
  void lock() { free_.acquire(); }
  /// Takes the lock if that is possible at once.
  bool try_lock() noexcept { return free_.try_acquire(); }
  /// As `lock`, for `at_most` so long. @returns Whether the lock is held. @throws As `lock`.
  template <class Rep, class Period>
  bool try_lock_for(const std::chrono::duration<Rep, Period>& at_most) {
    return free_.try_acquire_for(detail::in_nanoseconds(at_most));
  }
  /// As `try_lock_for`, until `deadline`.
  template <class Clock, class Duration>
  bool try_lock_until(const std::chrono::time_point<Clock, Duration>& deadline) {
    return try_lock_for(deadline - Clock::now());
  }
  /// By the task or thread that holds it. The one that has waited longest gets it. Never suspends.
  void unlock() noexcept { free_.release(); }
  /// Whether a task or a thread holds the lock. Another thread may lock or unlock it before the caller uses the answer.
  bool is_locked() const noexcept { return free_.available() == 0; }

 private:
  friend class Alternative;
  Semaphore free_{1};
};

/// Opens once it has been counted down to zero, and stays open.
class Latch {
 public:
  /// Opens after `count` steps.
  explicit Latch(std::uint64_t count) noexcept : count_(count) {}
  Latch(const Latch&) = delete;
  Latch& operator=(const Latch&) = delete;

  /// Never suspends. @returns Whether so many steps were left. If not, it counts nothing.
  bool count_down(std::uint64_t steps = 1) noexcept;
  /// Steps until it opens. Other threads may change the number before the caller looks at it.
  std::uint64_t remaining() const noexcept;
  /// Whether it is open.
  bool try_wait() const noexcept;
  /// Returns when it is open. May suspend. @throws Stuck as `Semaphore::acquire`.
  void wait();
  /// As `wait`, for `at_most` so long. @returns Whether it is open. @throws As `wait`.
  bool wait_for(std::chrono::nanoseconds at_most);
  /// Counts down if so many steps are left, then waits. It has counted also where the wait throws.
  void arrive_and_wait(std::uint64_t steps = 1) {
    count_down(steps);
    wait();
  }

 private:
  friend class detail::Selecting;
  bool enter(detail::Waiting& waiting) noexcept;
  void leave(detail::Waiting& waiting) noexcept;
  mutable std::mutex mutex_;
  std::uint64_t count_;
  detail::WaitingLine line_;
};

/// Lets no participant pass until all have arrived, phase after phase.
class Barrier {
 public:
  /// For this number of participants: at least 1.
  explicit Barrier(std::uint64_t participants) noexcept : participants_(participants) {}
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;

  /// Returns when all participants of this phase have arrived. May suspend. @throws Stuck as `Semaphore::acquire`; the arrival counts
  /// all the same.
  void arrive_and_wait();
  /// As `arrive_and_wait`, for `at_most` so long. @returns Whether all have arrived. If not, the arrival counts all the same: the others do not
  /// wait for this participant in this phase. @throws As `arrive_and_wait`.
  bool arrive_and_wait_for(std::chrono::nanoseconds at_most);
  /// Arrives without waiting, and takes part in no later phase. Never suspends. @returns Whether there was a participant left.
  bool arrive_and_drop() noexcept;
  /// Those that have not dropped out. Other threads may change the number before the caller looks at it.
  std::uint64_t participants() const noexcept;

 private:
  friend class detail::Selecting;
  bool enter(detail::Waiting& waiting) noexcept;
  void leave(detail::Waiting& waiting) noexcept;
  void pass(std::unique_lock<std::mutex>& lock) noexcept;
  mutable std::mutex mutex_;
  std::uint64_t participants_;
  std::uint64_t arrived_ = 0;
  detail::WaitingLine line_;
};

}  // namespace dovetail
