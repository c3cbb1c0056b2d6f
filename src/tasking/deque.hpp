// The queue of ready tasks of one worker. The owner pushes and pops at one end without locks; thieves take batches from the
// other end, one thief at a time. See docs/design/stealing.md for why no task is lost or run twice.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/spin_lock.hpp"
#include "dovetail/detail/body.hpp"

namespace dovetail::tasking {

using detail::Task;

class Deque {
 public:
  static constexpr std::size_t largest_batch = 64;

  Deque();
  Deque(const Deque&) = delete;
  Deque& operator=(const Deque&) = delete;

  /// Owner only.
  void push(Task* task) {
    const std::int64_t tail = tail_.load(std::memory_order_relaxed);
    if (tail - seen_head_ >= capacity_) [[unlikely]] {
      make_room(tail);
    }
    tasks_[static_cast<std::size_t>(tail & (capacity_ - 1))].store(task, std::memory_order_relaxed);
    // Pairs with the load of tail_ in steal: a thief that sees the new end sees the task.
    tail_.store(tail + 1, std::memory_order_release);
  }

  /// Owner only. Newest first; null when empty.
  Task* pop() {
    const std::int64_t tail = tail_.load(std::memory_order_relaxed) - 1;
    if (head_.load(std::memory_order_relaxed) > tail) {
      return nullptr;
    }
    // Sequentially consistent, as are the claim and the check in `steal`. When an owner and a thief want the same task, at
    // least one sees the other.
    tail_.store(tail, std::memory_order_seq_cst);
    if (head_.load(std::memory_order_seq_cst) <= tail) [[likely]] {
      return tasks_[static_cast<std::size_t>(tail & (capacity_ - 1))].load(std::memory_order_relaxed);
    }
    return pop_contended(tail);
  }

  /// The task that `pop` would give. Owner only; another thread may steal it any time.
  Task* newest() const noexcept {
    const std::int64_t tail = tail_.load(std::memory_order_relaxed);
    if (head_.load(std::memory_order_relaxed) >= tail) {
      return nullptr;
    }
    return tasks_[static_cast<std::size_t>((tail - 1) & (capacity_ - 1))].load(std::memory_order_relaxed);
  }

  /// Any thread. Takes about half of the tasks, oldest first, at most `most` (up to `largest_batch`); 0 when empty or busy.
  std::size_t steal(Task** stolen, std::size_t most = largest_batch) noexcept;

  /// Any thread; exact only for the owner while no thread steals.
  std::int64_t size() const noexcept {
    return tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_relaxed);
  }

 private:
  void make_room(std::int64_t tail);
  Task* pop_contended(std::int64_t tail);

  alignas(64) std::atomic<std::int64_t> tail_{0};
  // The owner's: it changes them under the lock, where thieves read them, and reads them without. GUARDED_BY cannot say that.
  std::atomic<Task*>* tasks_;
  std::int64_t capacity_;
  std::int64_t seen_head_ = 0;
  std::unique_ptr<std::atomic<Task*>[]> storage_;
  alignas(64) std::atomic<std::int64_t> head_{0};
  base::SpinLock thieves_;
};

}  // namespace dovetail::tasking
