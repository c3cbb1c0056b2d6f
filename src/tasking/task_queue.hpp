// Queues of ready tasks that any thread may put into and any worker may take from.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <queue>

#include "base/mutex.hpp"
#include "base/spin_lock.hpp"
#include "tasking/task.hpp"

namespace dovetail::tasking {

/// First in, first out.
class TaskQueue {
 public:
  void push(Task* task) noexcept {
    task->next = nullptr;
    const base::LockGuard lock(lock_);
    if (first_ == nullptr) {
      first_ = task;
    } else {
      last_->next = task;
    }
    last_ = task;
    size_.store(size_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
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
    while (taken < most && first_ != nullptr) {
      tasks[taken++] = first_;
      first_ = first_->next;
    }
    size_.store(size_.load(std::memory_order_relaxed) - taken, std::memory_order_relaxed);
    return taken;
  }

  base::SpinLock lock_;
  Task* first_ GUARDED_BY(lock_) = nullptr;
  Task* last_ GUARDED_BY(lock_) = nullptr;
  alignas(64) std::atomic<std::size_t> size_{0};
};

/// Highest priority first, oldest first among equals.
class PriorityQueue {
 public:
  void push(Task* task) {
    const base::LockGuard lock(mutex_);
    heap_.push({task->priority, sequence_++, task});
    size_.store(heap_.size(), std::memory_order_relaxed);
  }
  /// The first task, or null.
  Task* pop() noexcept { return empty() ? nullptr : take(); }
  bool empty() const noexcept { return size_.load(std::memory_order_relaxed) == 0; }

 private:
  struct Entry {
    std::int32_t priority;
    std::uint64_t sequence;
    Task* task;
    bool operator<(const Entry& other) const noexcept {
      return priority != other.priority ? priority < other.priority : sequence > other.sequence;
    }
  };
  [[gnu::noinline]] Task* take() noexcept {
    const base::LockGuard lock(mutex_);
    if (heap_.empty()) {
      return nullptr;
    }
    Task* task = heap_.top().task;
    heap_.pop();
    size_.store(heap_.size(), std::memory_order_relaxed);
    return task;
  }

  base::Mutex mutex_;
  std::priority_queue<Entry> heap_ GUARDED_BY(mutex_);
  std::uint64_t sequence_ GUARDED_BY(mutex_) = 0;
  std::atomic<std::size_t> size_{0};
};

}  // namespace dovetail::tasking
