/// @file
/// How something of your own becomes a source of events: a message library, a child process, a device that is asked "are you done?".
/// The polling service is that of K. Sala, S. Macià and V. Beltran: "Combining One-Sided Communications with Task-Based Programming Models"
/// (docs/papers.md), section V-B. Its rate is adaptive, which they leave as future work.
///
/// To wait for a descriptor only, use `this_task::wait_readable`. For a thread that tells you, use `PendingOperation` alone.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>

namespace dovetail {
class Runtime;
namespace detail {
class Selecting;
}

/// How often a service is polled while it has something pending.
struct PollingRate {
  /// Shortest time between two polls.
  std::chrono::nanoseconds shortest{std::chrono::microseconds(5)};
  /// Longest time between two polls; the rate adapts between the two by what polls find. Equal values fix the rate.
  std::chrono::nanoseconds longest{std::chrono::microseconds(500)};
};

/// Something that a polling service expects to end. One task may wait for it. Copies are the same operation, which fails when the last of
/// them is dropped before it has ended. Thread-safe.
class PendingOperation {
 public:
  /// No operation.
  PendingOperation() noexcept = default;
  /// Whether this is an operation.
  explicit operator bool() const noexcept { return state_ != nullptr; }
  /// Suspends the current task until the operation has ended. Once. @throws what `fail` was given; std::logic_error outside of a task.
  void wait();
  /// As `wait`, for `at_most` so long. @returns Whether it has ended; if not, it may be waited for once more. @throws As `wait`.
  bool wait_for(std::chrono::nanoseconds at_most);
  /// Binds the completion of the current task (in `onready`: its start) to the operation; if it fails, so does the task. Once. Never
  /// suspends. @throws std::logic_error outside of a task.
  void bind();
  /// It has ended. Later calls do nothing. From any thread.
  void complete() noexcept;
  /// It has ended by an error. Later calls do nothing. From any thread.
  void fail(std::exception_ptr cause) noexcept;

 private:
  friend class PollingService;
  friend class detail::Selecting;
  struct State;
  std::shared_ptr<State> state_;
};

/// A function that the runtime calls now and then, only while something is pending, whatever the workers are doing. A worker that is
/// looking for work calls it, else a thread that keeps time. There is one call at a time. The function runs outside of any task and must
/// not suspend or block. It should be short, since it keeps other timers waiting. Nothing pending costs nothing. A service may outlive its
/// runtime; nothing can be expected of it then.
class PollingService {
 public:
  /// Registers `poll`, which ends operations that it finds completed (`PendingOperation::complete`) and returns how many it found of
  /// those that `add_pending` counted. If it throws, all pending operations fail with what it threw, and it is not called again.
  ///
  /// `descriptor`: one that becomes readable when there is something to poll for (-1: none). The function is then called at once when it is
  /// readable, and should read what is there. The caller keeps the descriptor open as long as the service lives.
  PollingService(Runtime& runtime, std::string label, PollingRate rate, std::function<std::size_t()> poll,
                 int descriptor = -1);
  /// Unregisters. Waits for a running poll. Operations that are still pending fail.
  ~PollingService();
  PollingService(const PollingService&) = delete;
  PollingService& operator=(const PollingService&) = delete;

  /// Expects one more operation to end. `what` is said where the runtime reports what tasks wait for: "a message of rank 1, tag 3".
  /// From any thread. @throws std::runtime_error if the polling function has thrown, or the runtime has ended.
  PendingOperation expect(std::string what);
  /// Says that `count` more operations are pending of which the runtime knows nothing else: the program fulfils their events itself. If
  /// the polling function throws, the tasks that wait for such events are not failed: prefer `expect`. From any thread. @throws As `expect`.
  void add_pending(std::size_t count = 1);
  /// Operations that are pending.
  std::size_t pending() const noexcept;
  /// The time between polls that is in use.
  std::chrono::nanoseconds interval() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace dovetail
