#include "tasking/fiber_cache.hpp"

#include <mutex>

namespace dovetail::tasking {
namespace {
constexpr std::size_t most_resting = 256;
}

FiberPool::~FiberPool() {
  while (resting_ != nullptr) {
    fiber::Fiber* fiber = resting_;
    resting_ = fiber->next;
    stacks_.release(fiber->stack());
    delete fiber;
  }
}

fiber::Fiber* FiberPool::acquire() {
  {
    std::lock_guard lock(lock_);
    if (resting_ != nullptr) {
      fiber::Fiber* fiber = resting_;
      resting_ = fiber->next;
      --count_;
      return fiber;
    }
  }
  return new fiber::Fiber(stacks_.acquire(), entry_, nullptr);
}

void FiberPool::release(fiber::Fiber* fiber) noexcept {
  {
    std::lock_guard lock(lock_);
    if (count_ < most_resting) {
      fiber->next = resting_;
      resting_ = fiber;
      ++count_;
      return;
    }
  }
  // It rests in the scheduler loop, which keeps nothing on its stack that has to be destroyed.
  stacks_.release(fiber->stack());
  delete fiber;
}

FiberCache::~FiberCache() {
  while (first_ != nullptr) {
    fiber::Fiber* fiber = first_;
    first_ = fiber->next;
    pool_.release(fiber);
  }
}

}  // namespace dovetail::tasking
