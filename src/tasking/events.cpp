#include "dovetail/events.hpp"

#include <atomic>
#include <exception>
#include <utility>

#include "tasking/cancellation.hpp"
#include "tasking/context.hpp"
#include "tasking/failure.hpp"
#include "tasking/lifecycle.hpp"
#include "tasking/pause.hpp"
#include "tasking/task.hpp"

namespace dovetail {
namespace tasking {

bool cancel_requested(const Task* task) noexcept { return is_cancelled(task); }

Task* bind_event() noexcept {
  Task* const task = task_that_binds();
  if (task != nullptr) {
    task->blockers.fetch_add(1, std::memory_order_relaxed);
    task->first_look.store(0, std::memory_order_relaxed);
  }
  return task;
}

void fulfill_event(Task* task, std::exception_ptr cause) noexcept {
  if (cause) {
    fail(task, std::move(cause));
  }
  remove_blockers(task, 1);
}

}  // namespace tasking

void Events::add(std::uint32_t count) noexcept { count_.fetch_add(count, std::memory_order_relaxed); }

void Events::fulfill(std::uint32_t count) noexcept { tasking::remove_blockers(detail::Task::of(this), count); }

void Events::fail(std::exception_ptr cause) noexcept {
  detail::Task* const task = detail::Task::of(this);
  tasking::fail(task, std::move(cause));
  tasking::remove_blockers(task, 1);
}

}  // namespace dovetail
