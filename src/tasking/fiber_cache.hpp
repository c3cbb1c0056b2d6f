// Fibers that rest in the scheduler loop, ready to go on there when a task pauses. Any fiber may come to rest on any worker, so
// each worker has a cache, and caches exchange with one pool.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/spin_lock.hpp"
#include "fiber/fiber.hpp"

namespace dovetail::tasking {

class FiberPool {
 public:
  /// Fibers that no task has needed for so long are surplus.
  static constexpr std::chrono::seconds between_rounds{1};
  /// Surplus is destroyed in batches: the thread that does it keeps time, too.
  static constexpr std::size_t batch = 512;
  static constexpr std::chrono::milliseconds between_batches{10};

  /// New fibers run `entry(nullptr)`, which must not return. `surplus` is called when fibers come to rest: from then on
  /// `give_back_surplus` is to be called after `between_rounds`, and then when it says so. From any thread.
  FiberPool(fiber::StackPool& stacks, fiber::Fiber::Entry entry, std::function<void()> surplus)
      : stacks_(stacks), entry_(entry), surplus_(std::move(surplus)) {}
  /// All fibers have come to rest.
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  /// A resting fiber or a new one. @throws std::system_error when there is no memory for a stack.
  fiber::Fiber* acquire();
  /// Takes a resting fiber.
  void release(fiber::Fiber* fiber) noexcept;
  /// Fibers rest elsewhere: `surplus` is called as if they had come here.
  void expect_surplus() noexcept;
  /// Destroys fibers that no task has used since the last round. The system gets the memory of their stacks back. A program whose tasks pause and resume all the time needs its fibers again, and loses none. Returns after which time to call
  /// again; zero: not until `surplus` is called.
  std::chrono::milliseconds give_back_surplus() noexcept;
  /// Counts the rounds, each of one or more batches.
  std::uint32_t rounds() const noexcept { return rounds_.load(std::memory_order_relaxed); }

 private:
  fiber::StackPool& stacks_;
  const fiber::Fiber::Entry entry_;
  const std::function<void()> surplus_;
  base::SpinLock lock_;
  /// Used again from its end, so that those at its beginning are the surplus.
  std::vector<fiber::Fiber*> resting_ GUARDED_BY(lock_);
  std::size_t made_ GUARDED_BY(lock_) = 0;
  std::size_t least_resting_ GUARDED_BY(lock_) = 0;  ///< Since the last round: the surplus.
  std::atomic<bool> told_{false};                    ///< `surplus_` was called.
  std::atomic<std::uint32_t> rounds_{0};
};

/// For one worker.
class FiberCache {
 public:
  explicit FiberCache(FiberPool& pool) : pool_(pool) {}
  ~FiberCache();
  FiberCache(const FiberCache&) = delete;
  FiberCache& operator=(const FiberCache&) = delete;

  fiber::Fiber* acquire() {
    if (first_ == nullptr) {
      return pool_.acquire();
    }
    fiber::Fiber* fiber = first_;
    first_ = fiber->next;
    set_count(count() - 1);
    return fiber;
  }
  void release(fiber::Fiber* fiber) noexcept {
    if (count() >= most) {
      pool_.release(fiber);
      return;
    }
    fiber->next = first_;
    first_ = fiber;
    set_count(count() + 1);
  }
  /// Called before the worker sleeps. Gives its fibers back to the pool if a round of the pool has passed since the last call;
  /// otherwise asks for a round. A worker that is woken for each round while it `keeps_any` thus keeps none through a long sleep.
  void before_sleep() noexcept {
    if (!keeps_any()) {
      return;
    }
    if (const std::uint32_t rounds = pool_.rounds(); rounds != std::exchange(rounds_, rounds)) {
      give_all_back();
    } else {
      pool_.expect_surplus();
    }
  }
  /// Any thread.
  bool keeps_any() const noexcept { return count_.load(std::memory_order_relaxed) > 0; }

 private:
  static constexpr std::size_t most = 32;
  void give_all_back() noexcept;
  std::size_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  void set_count(std::size_t count) noexcept { count_.store(count, std::memory_order_relaxed); }
  FiberPool& pool_;
  std::uint32_t rounds_ = 0;
  fiber::Fiber* first_ = nullptr;
  std::atomic<std::size_t> count_{0};  ///< Written by the worker alone.
};

}  // namespace dovetail::tasking
