/// @file
/// Completion of a task bound to something outside its body. An event is how every asynchronous operation becomes part of
/// a task: `add` before the operation starts, `fulfill` when it has ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

namespace dovetail {

/// The event count of one task. A task completes only when its body has returned, its event count is zero and its
/// children have completed. Events added in `onready` delay the start of the body instead (TAGASPI, docs/papers.md, section V-A).
/// The object belongs to its task and is valid until the task completes; an added event keeps it valid.
class Events {
 public:
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  /// Adds `count` events. Only from the task's own body or `onready`, or while an event of it is outstanding.
  /// Does not suspend.
  void add(std::uint32_t count = 1) noexcept;
  /// Fulfills `count` events, from any thread. The last one may complete the task: do not touch the object afterwards.
  /// Does not suspend.
  void fulfill(std::uint32_t count = 1) noexcept;
  /// Fulfills one event and fails the task with `cause`, from any thread. The first failure of a task is kept.
  void fail(std::exception_ptr cause) noexcept;

 private:
  friend struct EventsAccess;
  explicit Events(std::uint32_t initial) noexcept : count_(initial) {}
  std::atomic<std::uint32_t> count_;
};

}  // namespace dovetail
