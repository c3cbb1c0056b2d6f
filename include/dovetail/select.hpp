/// @file
/// Waiting for the first of several things, and for a limited time.
///
///     switch (select({reply, {slots, 2}, shutdown}, {.at_most = 5ms}).value_or(3)) {
///       case 0: use(reply.get()); break;           // the future is ready
///       case 1: send(); slots.release(2); break;   // two units have been taken
///       case 2: return;                            // the latch is open
///       case 3: send_heartbeat(); break;           // nothing of that in 5 ms
///     }
///
/// In a task, a call that waits suspends the task, which may go on on another operating-system thread unless it is `.tied`. On any other
/// thread, and in I/O tasks, it blocks the thread. Not for `onready` and other functions that must not wait. All functions may be called
/// from any thread. Reports of what tasks wait for name everything that a call waits for.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <span>
#include <stop_token>
#include <variant>
#include <vector>

#include "dovetail/future.hpp"
#include "dovetail/polling.hpp"
#include "dovetail/synchronization.hpp"

namespace dovetail {

/// What ends a wait besides what is waited for.
struct WaitLimits {
  /// For how long to wait. max(): for as long as it takes; zero or less: only look.
  std::chrono::nanoseconds at_most = std::chrono::nanoseconds::max();
  /// Ends the wait when a stop is requested, as `this_task::stop_token` does when the task is cancelled.
  std::stop_token stop = {};
};

/// One of the things that `select` waits for. It shares a future or an operation, and refers to anything else, which must outlive the call.
class Alternative {
 public:
  /// The task has completed, failed or not. Its result is still to be got.
  Alternative(const FutureBase& future) : what_(future) {}
  /// `units` can be taken in turn. They have been taken if this is what `select` returns, and only then.
  Alternative(Semaphore& semaphore, std::uint64_t units = 1) noexcept : what_(Units{&semaphore, units}) {}
  /// As one unit of a semaphore: the lock is held if this is what `select` returns.
  Alternative(Mutex& mutex) noexcept : what_(Units{&mutex.free_, 1}) {}
  /// The latch is open.
  Alternative(Latch& latch) noexcept : what_(&latch) {}
  /// The operation has ended; `PendingOperation::wait` then returns at once, or throws its error. While this call waits no other may wait
  /// for the operation.
  Alternative(const PendingOperation& operation) : what_(operation) {}
  /// The descriptor can be read, as in `this_task::wait_readable`. Only in a task.
  static Alternative readable(int descriptor) noexcept { return Alternative(Descriptor{descriptor, false}); }
  /// The descriptor can be written, as in `this_task::wait_writable`. Only in a task.
  static Alternative writable(int descriptor) noexcept { return Alternative(Descriptor{descriptor, true}); }

 private:
  friend class detail::Selecting;
  struct Units {
    Semaphore* semaphore;
    std::uint64_t units;
  };
  struct Descriptor {
    int number;
    bool writable;
  };
  using What = std::variant<FutureBase, Units, Latch*, Barrier*, PendingOperation, Descriptor>;
  explicit Alternative(What what) noexcept : what_(std::move(what)) {}

  What what_;
};

/// Waits until one of these has happened and returns which: its place in the list. If several have, the first of them. Nothing if a limit has ended
/// the wait. Exactly one alternative takes effect: no units are taken from the others. May suspend.
/// @throws std::invalid_argument for an empty list; std::logic_error for a future without a task, an operation that another call waits for,
///         or a descriptor outside of a task; IoError for a descriptor that is not open; Stuck if the runtime finds the program stuck.
std::optional<std::size_t> select(std::span<const Alternative> alternatives, const WaitLimits& limits = {});
/// As above, for a list that is written in place.
inline std::optional<std::size_t> select(std::initializer_list<Alternative> alternatives,
                                         const WaitLimits& limits = {}) {
  return select(std::span(alternatives.begin(), alternatives.size()), limits);
}

namespace detail {
template <class R>
concept RangeOfFutures =
    std::ranges::input_range<const R> && std::derived_from<std::ranges::range_value_t<const R>, FutureBase>;
}  // namespace detail

/// Waits until the task of one of these futures has completed, failed or not, and returns which: its place among the arguments. If several
/// have, the first of them. May suspend. To take many results as they come, `FutureBase::when_completed` costs less: each call of this one
/// looks at all futures.
/// @throws As `select`.
template <std::derived_from<FutureBase>... Futures>
  requires(sizeof...(Futures) > 0)
std::size_t wait_for_any(const Futures&... futures) {
  return *select({Alternative(futures)...});
}
/// As above, for a range of futures such as a vector or a span; it is an error if it is empty.
template <detail::RangeOfFutures R>
std::size_t wait_for_any(const R& futures) {
  return *select(std::vector<Alternative>(std::ranges::begin(futures), std::ranges::end(futures)));
}
/// As above, with limits: nothing if one of them has ended the wait. `wait_for_any({.at_most = 5ms}, a, b)`.
template <std::derived_from<FutureBase>... Futures>
  requires(sizeof...(Futures) > 0)
std::optional<std::size_t> wait_for_any(const WaitLimits& limits, const Futures&... futures) {
  return select({Alternative(futures)...}, limits);
}
/// As above, with limits, for a range of futures.
template <detail::RangeOfFutures R>
std::optional<std::size_t> wait_for_any(const WaitLimits& limits, const R& futures) {
  return select(std::vector<Alternative>(std::ranges::begin(futures), std::ranges::end(futures)), limits);
}

}  // namespace dovetail
