// What a budget does with tasks that have no constraint.
#include "admission/budget.hpp"

namespace dovetail::admission {
namespace {
// So many that transferred nothing, and no other, are no transfers.
constexpr std::uint64_t tasks_without_transfer = 32;
}  // namespace

bool Budget::waits_too_long(const TaskType& type, double now) {
  const Requester* const requester = requester_.load(std::memory_order_acquire);
  if (requester == nullptr) {
    return false;
  }
  if (patience_.over(now, requester->activity)) {
    return true;
  }
  const double at = now + patience_.ask_after(now);
  if (now < ask_at_ && ask_at_ <= at) {
    return false;
  }
  const bool asked = requester->wants_to_be_asked(*type.queue.first, at - now);
  ask_at_ = asked ? at : 0;
  return !asked;  // nobody is kept out if nobody can come and ask
}

void Budget::ask_again(double now, RequestList& admitted) {
  std::lock_guard lock(mutex_);
  admit(now, admitted);
}

// A task without constraint has ended.
void Budget::watch(TaskType& type, double megabytes, double seconds, double device_seconds) {
  if (megabytes <= 0) {
    // Such tasks may wait for anything, each other among it: nobody may hold them back.
    ++type.without_transfer;
    type.held_back = false;
    if (type.without_transfer == type.tasks && type.tasks >= tasks_without_transfer) {
      needless_.store(true, std::memory_order_relaxed);
    }
    return;
  }
  type.without_transfer = 0;
  if (!type.held_back) {
    congests_ = congests_ || guard_.ended(megabytes, seconds, device_seconds);
    type.held_back = congests_;
    if (congests_) {
      note(type, now_);
    }
  }
}

}  // namespace dovetail::admission
