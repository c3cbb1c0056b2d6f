// What one compute worker has given to the system and awaits: a ring of io_uring, or a context of Linux' own asynchronous I/O.
// Virtual is what happens once for a sleep or for a batch; submitting a request and taking completions are not.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/mutex.hpp"
#include "base/spin_lock.hpp"
#include "base/thread_safety.hpp"
#include "storage/request.hpp"

namespace dovetail::storage {

/// The end of one attempt.
struct Completion {
  Request* request;
  std::int32_t result;
};

class WorkerQueue {
 public:
  virtual ~WorkerQueue() = default;
  WorkerQueue(const WorkerQueue&) = delete;
  WorkerQueue& operator=(const WorkerQueue&) = delete;

  /// Sleeps until there is a completion, `wake_descriptor` (an eventfd) was written, or the deadline has passed. Hands over what was
  /// gathered. Owner only.
  virtual void sleep(int wake_descriptor, std::chrono::steady_clock::time_point deadline) noexcept = 0;
  /// Prepares `notify_completions`. Each completion is to write the eventfd `bell`, or a descriptor of the queue's own is put into the epoll instance
  /// `watch`. False where neither is possible.
  virtual bool notify_by(int bell, int watch) noexcept = 0;
  /// Completions write it from now on, or not any more. Returns whether there are some already. From any thread.
  virtual bool notify_completions(bool on) noexcept = 0;

  /// Attempts gathered and not yet handed over. From any thread.
  unsigned gathered() const noexcept { return gathered_.load(std::memory_order_relaxed); }
  /// Hands over what was gathered. Owner only.
  void flush() noexcept;
  /// Hands over what was gathered, unless the owner sleeps: then it is about to do so itself. From any thread.
  void hand_over() noexcept;
  /// Attempts that were submitted and whose completion was not taken. From any thread.
  std::uint64_t in_flight() const noexcept {
    // Taken first: what is submitted in between then counts too many, never too few.
    const std::uint64_t taken = taken_.load(std::memory_order_acquire);
    return submitted_.load(std::memory_order_acquire) - taken;
  }
  /// Whether it holds anything, gathered or submitted. Owner only.
  bool holds_any() const noexcept { return in_flight() > 0 || gathered() > 0; }
  /// Said around each sleep, before other threads can know of it. Meanwhile they leave the completions to the owner, which is woken by
  /// them. Nor do they hand over anything, so that the sleep itself may.
  void owner_sleeps(bool sleeps) noexcept {
    const base::LockGuard lock(submitting_);
    owner_sleeps_.store(sleeps, std::memory_order_seq_cst);
  }

 protected:
  WorkerQueue() = default;
  /// Gives the system what was gathered, as far as it takes it.
  virtual void submit_gathered() noexcept REQUIRES(submitting_) = 0;
  /// The same, by a thread that is not the owner.
  virtual void submit_for_owner() noexcept REQUIRES(submitting_) { submit_gathered(); }
  /// Counts attempts in. Owner only.
  void count_submitted(unsigned count) noexcept {
    submitted_.store(submitted_.load(std::memory_order_relaxed) + count, std::memory_order_release);
  }
  void count_taken(unsigned count) noexcept REQUIRES(taking_) {
    taken_.store(taken_.load(std::memory_order_relaxed) + count, std::memory_order_release);
  }

  void set_gathered(unsigned count) noexcept REQUIRES(submitting_) {
    gathered_.store(count, std::memory_order_relaxed);
  }
  bool owner_is_asleep() const noexcept { return owner_sleeps_.load(std::memory_order_seq_cst); }

  base::SpinLock submitting_;                // For what is gathered, but by an owner that sleeps.
  RequestQueue kept_;                        // Requests that found the queue full. For the owner only.
  std::atomic<std::uint64_t> submitted_{0};  // Written by the owner; partner of the acquire in `in_flight` and `take`.
  alignas(64) base::SpinLock taking_;
  std::atomic<std::uint64_t> taken_{0};

 private:
  std::atomic<unsigned> gathered_{0};
  std::atomic<bool> owner_sleeps_{false};
};

}  // namespace dovetail::storage
