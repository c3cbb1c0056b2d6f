// Queues of ready tasks that are shared by all workers.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <queue>
#include <vector>

#include "base/spin_lock.hpp"
#include "tasking/task.hpp"

namespace dovetail::tasking {

/// First in, first out; for tasks that come from threads that are not workers, and for those that gave way.
class SharedQueue {
 public:
  void push(Task* task) noexcept {
    task->next = nullptr;
    std::lock_guard lock(lock_);
    if (first_ == nullptr) {
      first_ = task;
    } else {
      last_->next = task;
    }
    last_ = task;
    size_.store(size_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }

  /// Takes up to `most` tasks, oldest first.
  std::size_t pop(Task** tasks, std::size_t most) noexcept {
    if (empty()) {
      return 0;
    }
    std::lock_guard lock(lock_);
    std::size_t taken = 0;
    while (taken < most && first_ != nullptr) {
      tasks[taken++] = first_;
      first_ = first_->next;
    }
    size_.store(size_.load(std::memory_order_relaxed) - taken, std::memory_order_relaxed);
    return taken;
  }

  bool empty() const noexcept { return size() == 0; }
  std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

 private:
  base::SpinLock lock_;
  Task* first_ = nullptr;
  Task* last_ = nullptr;
  alignas(64) std::atomic<std::size_t> size_{0};
};

/// Highest priority first, oldest first among equals.
class PriorityQueue {
 public:
  void push(Task* task) {
    std::lock_guard lock(mutex_);
    heap_.push({task->priority, sequence_++, task});
    size_.store(heap_.size(), std::memory_order_relaxed);
  }
  /// The first task, or null.
  Task* pop() noexcept {
    if (empty()) {
      return nullptr;
    }
    std::lock_guard lock(mutex_);
    if (heap_.empty()) {
      return nullptr;
    }
    Task* task = heap_.top().task;
    heap_.pop();
    size_.store(heap_.size(), std::memory_order_relaxed);
    return task;
  }
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
  std::mutex mutex_;
  std::priority_queue<Entry> heap_;
  std::uint64_t sequence_ = 0;
  std::atomic<std::size_t> size_{0};
};

}  // namespace dovetail::tasking
