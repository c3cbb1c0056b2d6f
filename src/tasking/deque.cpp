#include "tasking/deque.hpp"

#include <algorithm>

#include "base/mutex.hpp"

namespace dovetail::tasking {
namespace {
constexpr std::int64_t first_capacity = 1024;
}

Deque::Deque()
    : capacity_(first_capacity), storage_(std::make_unique<std::atomic<Task*>[]>(static_cast<std::size_t>(capacity_))) {
  tasks_ = storage_.get();
}

void Deque::make_room(std::int64_t tail) {
  // Under the lock, because a thief that is about to give up has moved head_ ahead for a moment.
  const base::LockGuard lock(thieves_);
  seen_head_ = head_.load(std::memory_order_relaxed);
  if (tail - seen_head_ < capacity_) {
    return;
  }
  const std::int64_t larger = capacity_ * 2;
  auto copy = std::make_unique<std::atomic<Task*>[]>(static_cast<std::size_t>(larger));
  for (std::int64_t i = seen_head_; i < tail; ++i) {
    copy[static_cast<std::size_t>(i & (larger - 1))].store(
        tasks_[static_cast<std::size_t>(i & (capacity_ - 1))].load(std::memory_order_relaxed),
        std::memory_order_relaxed);
  }
  storage_ = std::move(copy);
  tasks_ = storage_.get();
  capacity_ = larger;
}

Task* Deque::pop_contended(std::int64_t tail) {
  tail_.store(tail + 1, std::memory_order_seq_cst);
  const base::LockGuard lock(thieves_);
  if (head_.load(std::memory_order_seq_cst) > tail) {
    return nullptr;
  }
  tail_.store(tail, std::memory_order_seq_cst);
  return tasks_[static_cast<std::size_t>(tail & (capacity_ - 1))].load(std::memory_order_relaxed);
}

std::size_t Deque::steal(Task** stolen, std::size_t most) noexcept {
  if (!thieves_.try_lock()) {
    return 0;
  }
  const std::int64_t head = head_.load(std::memory_order_relaxed);
  std::int64_t available = tail_.load(std::memory_order_acquire) - head;
  std::int64_t taken = 0;
  while (available > 0) {
    const std::int64_t wanted = std::min((available + 1) / 2, static_cast<std::int64_t>(most));
    head_.store(head + wanted, std::memory_order_seq_cst);
    const std::int64_t tail = tail_.load(std::memory_order_seq_cst);
    if (head + wanted <= tail) {
      // Only now: before the claim the owner could have popped one and pushed another in its place. It does not reuse the
      // places of claimed tasks before it has had the lock.
      for (; taken < wanted; ++taken) {
        stolen[taken] =
            tasks_[static_cast<std::size_t>((head + taken) & (capacity_ - 1))].load(std::memory_order_relaxed);
      }
      break;
    }
    // The owner has come to meet us: give all back and ask for less.
    head_.store(head, std::memory_order_seq_cst);
    available = std::min(tail - head, wanted - 1);
  }
  thieves_.unlock();
  return static_cast<std::size_t>(taken);
}

}  // namespace dovetail::tasking
