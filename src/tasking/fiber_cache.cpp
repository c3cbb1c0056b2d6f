#include "tasking/fiber_cache.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "base/mutex.hpp"

namespace dovetail::tasking {

FiberPool::~FiberPool() {
  for (fiber::Fiber* fiber : resting_) {
    delete fiber;  // the stacks end with their pool
  }
}

fiber::Fiber* FiberPool::acquire() {
  {
    const base::LockGuard lock(lock_);
    if (!resting_.empty()) {
      fiber::Fiber* fiber = resting_.back();
      resting_.pop_back();
      least_resting_ = std::min(least_resting_, resting_.size());
      return fiber;
    }
    least_resting_ = 0;
    if (++made_ > resting_.capacity()) {
      resting_.reserve(2 * made_);  // `release` never allocates
    }
  }
  return new fiber::Fiber(stacks_.acquire(), entry_, nullptr);
}

void FiberPool::release(fiber::Fiber* fiber) noexcept {
  {
    const base::LockGuard lock(lock_);
    resting_.push_back(fiber);
  }
  expect_surplus();
}

void FiberPool::expect_surplus() noexcept {
  if (!told_.load(std::memory_order_relaxed) && !told_.exchange(true, std::memory_order_relaxed)) {
    surplus_();
  }
}

std::chrono::milliseconds FiberPool::give_back_surplus() noexcept {
  std::array<fiber::Fiber*, batch> surplus;
  std::size_t count = 0;
  std::size_t left = 0;
  bool more = false;
  {
    const base::LockGuard lock(lock_);
    count = std::min(least_resting_, surplus.size());
    std::copy_n(resting_.begin(), count, surplus.begin());
    resting_.erase(resting_.begin(), resting_.begin() + static_cast<std::ptrdiff_t>(count));
    made_ -= count;
    left = least_resting_ - count;
    least_resting_ = left > 0 ? left : resting_.size();
    more = !resting_.empty();
    told_.store(more, std::memory_order_relaxed);
  }
  if (left == 0) {
    rounds_.fetch_add(1, std::memory_order_relaxed);
  }
  for (std::size_t i = 0; i < count; ++i) {
    // It rests in the scheduler loop, which keeps nothing on its stack that has to be destroyed.
    stacks_.release(surplus[i]->stack());
    delete surplus[i];
  }
  if (!more) {
    return std::chrono::milliseconds(0);
  }
  return left > 0 ? between_batches : between_rounds;
}

FiberCache::~FiberCache() { give_all_back(); }

void FiberCache::give_all_back() noexcept {
  while (first_ != nullptr) {
    fiber::Fiber* fiber = first_;
    first_ = fiber->next;
    pool_.release(fiber);
  }
  set_count(0);
}

}  // namespace dovetail::tasking
