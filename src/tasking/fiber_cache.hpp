// Fibers that rest in the scheduler loop, ready to go on there when a task pauses. Any fiber may come to rest on any worker, so
// each worker has a cache, and caches exchange with one pool.
#pragma once

#include <cstddef>

#include "base/spin_lock.hpp"
#include "fiber/fiber.hpp"

namespace dovetail::tasking {

class FiberPool {
 public:
  /// New fibers run `entry(nullptr)`, which must not return.
  FiberPool(fiber::StackPool& stacks, fiber::Fiber::Entry entry) : stacks_(stacks), entry_(entry) {}
  /// All fibers have come to rest.
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  /// A resting fiber or a new one. @throws std::system_error when there is no memory for a stack.
  fiber::Fiber* acquire();
  /// Takes a resting fiber; destroys it, and gives its stack back, when many rest already.
  void release(fiber::Fiber* fiber) noexcept;

 private:
  fiber::StackPool& stacks_;
  const fiber::Fiber::Entry entry_;
  base::SpinLock lock_;
  fiber::Fiber* resting_ = nullptr;
  std::size_t count_ = 0;
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
    --count_;
    return fiber;
  }
  void release(fiber::Fiber* fiber) noexcept {
    if (count_ >= most) {
      pool_.release(fiber);
      return;
    }
    fiber->next = first_;
    first_ = fiber;
    ++count_;
  }

 private:
  static constexpr std::size_t most = 32;
  FiberPool& pool_;
  fiber::Fiber* first_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace dovetail::tasking
