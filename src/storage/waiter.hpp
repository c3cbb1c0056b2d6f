// Waits for one thing to happen: pauses a task, blocks any other thread.
#pragma once

#include "base/mutex.hpp"
#include "tasking/pause.hpp"

namespace dovetail::storage {

/// Made by the thread that waits; `wait` returns after `notify`, which is called exactly once, from any thread.
class Waiter {
 public:
  explicit Waiter(bool may_pause) noexcept : task_(may_pause ? tasking::current_task() : nullptr) {
    if (task_ != nullptr) {
      tasking::prepare_pause(task_);
    }
  }
  void notify() noexcept {
    if (task_ != nullptr) {
      tasking::wake(task_);
      return;
    }
    const base::LockGuard lock(mutex_);
    done_ = true;
    changed_.notify_one();  // under the lock: the waiter may destroy this as soon as it has it
  }
  /// May suspend.
  void wait(const void* subject) {
    if (task_ != nullptr) {
      tasking::pause(task_, tasking::WaitReason::io, subject);
      return;
    }
    base::UniqueLock lock(mutex_);
    while (!done_) {
      changed_.wait(lock);
    }
  }

 private:
  detail::Task* task_;
  base::Mutex mutex_;
  base::ConditionVariable changed_;
  bool done_ GUARDED_BY(mutex_) = false;
};

}  // namespace dovetail::storage
