#include "dovetail/events.hpp"

#include <utility>

#include "tasking/failure.hpp"
#include "tasking/lifecycle.hpp"
#include "tasking/task.hpp"

namespace dovetail {

void Events::add(std::uint32_t count) noexcept { count_.fetch_add(count, std::memory_order_relaxed); }

void Events::fulfill(std::uint32_t count) noexcept { tasking::remove_blockers(detail::Task::of(this), count); }

void Events::fail(std::exception_ptr cause) noexcept {
  detail::Task* const task = detail::Task::of(this);
  tasking::set_failure(task, tasking::Failure::of_task(*task, std::move(cause)));
  tasking::remove_blockers(task, 1);
}

}  // namespace dovetail
