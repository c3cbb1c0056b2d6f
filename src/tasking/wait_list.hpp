// Those that wait for one task to complete, in the word `Task::waiters`.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

namespace dovetail::detail {
struct Task;
}

namespace dovetail::tasking {

using detail::Task;

/// One wait. Shared by the waiter, which may give up, and by the task that is waited for.
struct WaitNode {
  enum class State : std::uint8_t { waiting, done, abandoned };
  WaitNode* next = nullptr;
  Task* waiting_task = nullptr;    ///< Null: a foreign thread waits, or there is a callback.
  std::function<void()> callback;  ///< Told instead.
  const Task* target = nullptr;
  std::atomic<State> state{State::waiting};
  std::atomic<int> references{2};

  /// Ends the wait, once. False: it has ended.
  bool end(State how) noexcept {
    State expected = State::waiting;
    return state.compare_exchange_strong(expected, how, std::memory_order_acq_rel);
  }
  void release() noexcept {
    if (references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      delete this;
    }
  }
};

/// The word of a task: the newest wait, or that the task has completed.
using WaitWord = std::atomic<WaitNode*>;

inline WaitNode* completed_mark() noexcept { return reinterpret_cast<WaitNode*>(std::uintptr_t{1}); }
inline bool is_closed(const WaitWord& waiters) noexcept {
  return waiters.load(std::memory_order_acquire) == completed_mark();
}
/// Enters a wait for a task. False: it has completed, and the node is the caller's alone.
bool enlist(WaitWord& waiters, WaitNode* node) noexcept;
/// Takes a wait out. True: the node is the caller's alone. False: the task has completed, and the completing thread has visited the node
/// or will.
bool withdraw(WaitWord& waiters, const WaitNode* node) noexcept;
/// Marks the task as completed, so that no wait is entered any more. Returns those that wait, in the order in which they came.
WaitNode* close_waits(WaitWord& waiters) noexcept;

}  // namespace dovetail::tasking
