#include "storage/worker_queue.hpp"

namespace dovetail::storage {

void WorkerQueue::flush() noexcept {
  const base::LockGuard lock(submitting_);
  submit_gathered();
}

void WorkerQueue::hand_over() noexcept {
  if (!submitting_.try_lock()) {
    return;  // the owner is at it
  }
  if (!owner_is_asleep()) {
    submit_for_owner();
  }
  submitting_.unlock();
}

}  // namespace dovetail::storage
