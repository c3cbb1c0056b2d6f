#include "tasking/waiters.hpp"

#include "base/mutex.hpp"
#include "tasking/context.hpp"
#include "tasking/core.hpp"
#include "tasking/schedule.hpp"

namespace dovetail::tasking {
namespace {

// A callback belongs to no task, also where the body of one has completed another by fulfilling its last event.
void call_outside_of_tasks(const std::function<void()>& callback) noexcept {
  const OutsideOfTask outside;
  callback();
}

}  // namespace

void tell_waiters(Task* task) noexcept {
  WaitNode* node = close_waits(task->waiters);
  while (node != nullptr) {
    WaitNode* next = node->next;
    if (node->callback) {
      task->core->foreign.callbacks.fetch_sub(1, std::memory_order_relaxed);
      call_outside_of_tasks(node->callback);
    } else if (node->waiting_task != nullptr) {
      if (node->end(WaitNode::State::done)) {
        wake(node->waiting_task);
      }
    } else {
      ForeignWaits& foreign = task->core->foreign;
      const base::LockGuard lock(foreign.mutex);
      if (node->end(WaitNode::State::done)) {
        foreign.changed.notify_all();
      }
    }
    node->release();
    node = next;
  }
}

bool abandon_wait(Task* waiting) noexcept {
  auto* node = static_cast<WaitNode*>(const_cast<void*>(waiting->wait_subject));
  return node->end(WaitNode::State::abandoned);
}

const Task* awaited_task(const Task* waiting) noexcept {
  return static_cast<const WaitNode*>(waiting->wait_subject)->target;
}

}  // namespace dovetail::tasking
