#include "tasking/cancellation.hpp"

#include "tasking/core.hpp"
#include "tasking/task.hpp"

namespace dovetail::tasking {

bool is_cancelled(const Task* task) noexcept {
  return task->cancel_requested.load(std::memory_order_relaxed) ||
         task->cancel_epoch != task->core->cancel_epoch.load(std::memory_order_relaxed);
}

bool must_not_run(const Task* task) noexcept {
  return task->poisoned.load(std::memory_order_relaxed) || task->failure.load(std::memory_order_relaxed) != nullptr ||
         is_cancelled(task);
}

}  // namespace dovetail::tasking
