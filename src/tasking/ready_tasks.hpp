// The ready tasks that wait with one worker: those that it made ready itself, and those that others gave to it.
#pragma once

#include <cstddef>
#include <utility>

#include "tasking/deque.hpp"
#include "tasking/task_queue.hpp"

namespace dovetail::tasking {

class ReadyTasks {
 public:
  /// @name For the worker alone
  /// @{
  void push(Task* task) { deque_.push(task); }
  /// Has the task run next, while its data are in the cache; no thread steals it. False: another one is to do so already.
  bool push_next(Task* task) noexcept {
    if (next_ != nullptr) {
      return false;
    }
    next_ = task;
    return true;
  }
  /// Another one runs first: the one that was to run next is to be had by thieves as well. Returns whether there was one.
  bool put_off_next() {
    if (next_ == nullptr) {
      return false;
    }
    deque_.push(std::exchange(next_, nullptr));
    return true;
  }
  /// The one that is to run next, else the newest; null if there is none.
  Task* pop() { return next_ != nullptr ? std::exchange(next_, nullptr) : deque_.pop(); }
  /// What `pop` would give. It stays, and no thread steals it.
  Task* peek() {
    if (next_ == nullptr) {
      next_ = deque_.pop();
    }
    return next_;
  }
  /// The oldest one of the deque.
  Task* pop_oldest() noexcept {
    Task* task = nullptr;
    deque_.steal(&task, 1);
    return task;
  }
  Task* pop_tied() noexcept { return tied_.pop(); }
  std::size_t pop_given(Task** tasks, std::size_t most) noexcept { return given_.pop(tasks, most); }
  /// Whether others have given some, which `pop` does not see.
  bool holds_given() const noexcept { return !tied_.empty() || !given_.empty(); }
  bool holds_tied() const noexcept { return !tied_.empty(); }
  /// @}

  /// @name For any thread
  /// @{
  void give_tied(Task* task) noexcept { tied_.push(task); }
  void give(Task* task) noexcept { given_.push(task); }
  std::size_t steal(Task** tasks, std::size_t most) noexcept { return deque_.steal(tasks, most); }
  /// From what was given.
  std::size_t steal_given(Task** tasks, std::size_t most) noexcept {
    return given_.pop(tasks, std::min(most, given_.size() / 2 + 1));
  }
  /// Of the deque.
  std::int64_t size() const noexcept { return deque_.size(); }
  bool may_be_stolen_from() const noexcept { return deque_.size() > 0 || !given_.empty(); }
  /// @}

 private:
  Deque deque_;
  Task* next_ = nullptr;
  TaskQueue tied_;   ///< Woken tasks that may go on nowhere else.
  TaskQueue given_;  ///< Tasks that this worker made, and others that are better run here.
};

}  // namespace dovetail::tasking
