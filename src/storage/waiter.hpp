// Waits for one thing to happen: pauses a task, blocks any other thread.
#pragma once

#include <condition_variable>
#include <mutex>

#include "tasking/pause.hpp"

namespace dovetail::storage {

/// Made by the one who waits; `wait` returns after `notify`, which is called exactly once, from any thread.
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
    const std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_one();  // under the lock: the waiter may destroy this as soon as it has it
  }
  /// May suspend.
  void wait(const void* subject) {
    if (task_ != nullptr) {
      tasking::pause(task_, tasking::WaitReason::io, subject);
      return;
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
  }

 private:
  detail::Task* task_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
};

}  // namespace dovetail::storage
