// Queues of ready tasks that any thread may put into and any worker may take from.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/fifo.hpp"
#include "base/mutex.hpp"
#include "base/priority_fifo.hpp"
#include "base/spin_lock.hpp"
#include "tasking/task.hpp"

namespace dovetail::tasking {

/// First in, first out.
class TaskQueue {
 public:
  void push(Task* task) noexcept {
    const base::LockGuard lock(lock_);
    tasks_.push(*task);
    size_.store(tasks_.size(), std::memory_order_relaxed);
  }

  /// Takes up to `most` tasks, oldest first.
  std::size_t pop(Task** tasks, std::size_t most) noexcept { return empty() ? 0 : take(tasks, most); }
  /// The oldest task, or null.
  Task* pop() noexcept {
    Task* task = nullptr;
    pop(&task, 1);
    return task;
  }

  bool empty() const noexcept { return size() == 0; }
  std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

 private:
  [[gnu::noinline]] std::size_t take(Task** tasks, std::size_t most) noexcept {
    const base::LockGuard lock(lock_);
    std::size_t taken = 0;
    while (taken < most && !tasks_.empty()) {
      tasks[taken++] = tasks_.pop();
    }
    size_.store(tasks_.size(), std::memory_order_relaxed);
    return taken;
  }

  base::SpinLock lock_;
  base::Fifo<Task> tasks_ GUARDED_BY(lock_);
  alignas(64) std::atomic<std::size_t> size_{0};
};

/// Highest priority first, oldest first among equals.
class PriorityQueue {
 public:
  void push(Task* task) {
    const base::LockGuard lock(mutex_);
    tasks_.push(*task);
    size_.store(tasks_.size(), std::memory_order_relaxed);
  }
  /// The first task, or null.
  Task* pop(base::Order order = base::Order::by_priority) noexcept { return empty() ? nullptr : take(order); }
  bool empty() const noexcept { return size_.load(std::memory_order_relaxed) == 0; }

 private:
  [[gnu::noinline]] Task* take(base::Order order) noexcept {
    const base::LockGuard lock(mutex_);
    Task* const task = tasks_.pop(order);
    size_.store(tasks_.size(), std::memory_order_relaxed);
    return task;
  }

  base::Mutex mutex_;
  base::PriorityFifo<Task> tasks_ GUARDED_BY(mutex_);
  std::atomic<std::size_t> size_{0};
};

}  // namespace dovetail::tasking
