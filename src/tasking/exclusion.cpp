#include "tasking/exclusion.hpp"

#include "base/mutex.hpp"
#include "tasking/task.hpp"

namespace dovetail::tasking {

void Exclusion::release() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    delete this;
  }
}

bool Exclusion::acquire(Task* task) noexcept {
  const base::LockGuard lock(lock_);
  if (!held_) {
    held_ = true;
    return true;
  }
  task->next = nullptr;
  if (first_ == nullptr) {
    first_ = task;
  } else {
    last_->next = task;
  }
  last_ = task;
  return false;
}

Task* Exclusion::hand_over() noexcept {
  const base::LockGuard lock(lock_);
  Task* task = first_;
  if (task == nullptr) {
    held_ = false;
  } else {
    first_ = task->next;
  }
  return task;
}

}  // namespace dovetail::tasking
