// One wait that the first of several things ends: see dovetail/select.hpp.
//
// Each thing, the deadline and the stop token may end it at the same time, from different threads. The thread that changes `winner_`
// first has ended it, and wakes the waiter. The wait returns the thing for which that thread acted. The others find it ended and do
// nothing: a semaphore keeps its units.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "tasking/wait_visitor.hpp"

namespace dovetail::detail {
struct Task;
}

namespace dovetail::tasking {

using detail::Task;
class WaitingThread;

/// What may end a selection.
enum class Awaited : std::uint8_t {
  tasks,    ///< Nothing but tasks of one runtime.
  program,  ///< Something else of the program: a task of another runtime, a semaphore, a request to stop.
  sources,  ///< An operation of a source, or a descriptor, among others.
};

using VisitSelection = std::function<void(const Task*, const WaitText&, Awaited)>;

class Selection {
 public:
  /// What ended the wait if it was none of the things, which are counted from 0.
  enum End : int { nothing = -1, timed_out = -2, stopped = -3, stuck = -4, given_up = -5 };

  /// A thread waits.
  Selection() noexcept = default;
  /// A task waits, which `wake_task` lets go on; if it is null, a thread. `text` says for what.
  Selection(Task* task, void (*wake_task)(Task*) noexcept, WaitText text) noexcept
      : task_(task), wake_task_(wake_task), text_(std::move(text)) {}
  Selection(const Selection&) = delete;
  Selection& operator=(const Selection&) = delete;

  /// Ends the wait, if nothing has. The caller has to `wake` then, once. Any thread.
  bool claim(int winner) noexcept {
    int expected = nothing;
    return winner_.compare_exchange_strong(expected, winner, std::memory_order_acq_rel);
  }
  void wake() noexcept;
  void end(int winner) noexcept {
    if (claim(winner)) {
      wake();
    }
  }
  int winner() const noexcept { return winner_.load(std::memory_order_acquire); }
  Task* task() const noexcept { return task_; }

  /// Blocks the thread until something has ended the wait, or `deadline`. `thread`: what it does meanwhile; null: nothing. @returns false if a look
  /// of the thread ended the wait.
  bool block_until(base::TimePoint deadline, WaitingThread* thread = nullptr);

 private:
  friend class Selections;
  void look_again() noexcept;

  Task* const task_ = nullptr;
  void (*const wake_task_)(Task*) noexcept = nullptr;
  const WaitText text_;
  std::atomic<int> winner_{nothing};
  // Of a thread.
  base::Mutex mutex_;
  base::ConditionVariable changed_;
  // In a list of `Selections`, under its lock, which GUARDED_BY cannot name from here.
  Selection* before_ = nullptr;
  Selection* behind_ = nullptr;
  Awaited awaited_ = Awaited::program;
};

/// The selections of a runtime's tasks, and those of threads that wait for its tasks and nothing else. For reports, and for a runtime that
/// is stuck. Thread-safe.
class Selections {
 public:
  void add(Selection& selection, Awaited awaited) noexcept;
  void remove(Selection& selection) noexcept;
  /// Calls `visit` for each task that waits. The task stays meanwhile.
  void for_each_wait(const VisitSelection& visit) const;
  /// Ends the wait of a task, as stuck. The caller wakes it. False: it has ended.
  bool give_up(const Task* task) noexcept;
  /// Ends the waits of threads, as stuck.
  void give_up_threads() noexcept;
  /// Threads that wait look whether there is something to do for them.
  void wake_threads() noexcept;

 private:
  mutable base::Mutex mutex_;
  Selection* first_ GUARDED_BY(mutex_) = nullptr;
};

}  // namespace dovetail::tasking
