#include "dovetail/this_task.hpp"

#include <stdexcept>
#include <string>

#include "base/clock.hpp"
#include "tasking/context.hpp"
#include "tasking/core.hpp"
#include "tasking/label.hpp"
#include "tasking/lifecycle.hpp"
#include "tasking/pause.hpp"
#include "tasking/worker.hpp"

namespace dovetail {

struct TaskHandleAccess {
  static TaskHandle make(detail::Task* task) { return TaskHandle(task); }
};

namespace {

using tasking::ResumeState;

detail::Task* require_task(const char* call) {
  detail::Task* task = tasking::context().task;
  if (task == nullptr) {
    throw std::logic_error(std::string("this_task::") + call + " was called outside of a task");
  }
  return task;
}

}  // namespace

void TaskHandle::resume() const noexcept {
  if (task_ == nullptr) {
    return;
  }
  ResumeState state = task_->resume_state.load(std::memory_order_relaxed);
  for (;;) {
    const ResumeState next = state == ResumeState::awaited ? ResumeState::none : ResumeState::kept;
    // Acquire and release: what happened before the resume is seen after the suspend.
    if (task_->resume_state.compare_exchange_weak(state, next, std::memory_order_acq_rel)) {
      break;
    }
  }
  if (state == ResumeState::awaited) {
    tasking::wake(task_);
  }
}

namespace this_task {

bool active() noexcept { return tasking::context().task != nullptr; }

Events& events() {
  if (detail::Task* task = tasking::context().task) {
    return task->events();
  }
  if (detail::Task* task = tasking::context().onready) {
    return task->events();
  }
  throw std::logic_error("this_task::events was called outside of a task");
}

TaskHandle handle() {
  detail::Task* const task = require_task("handle");
  tasking::retain(task);
  return TaskHandleAccess::make(task);
}

void suspend() {
  detail::Task* const task = require_task("suspend");
  tasking::prepare_pause(task);
  ResumeState state = ResumeState::none;
  if (!task->resume_state.compare_exchange_strong(state, ResumeState::awaited, std::memory_order_acq_rel)) {
    task->resume_state.store(ResumeState::none, std::memory_order_relaxed);
    return;
  }
  tasking::pause(task, tasking::WaitReason::resume);
}

std::chrono::nanoseconds wait_for(std::chrono::nanoseconds duration) {
  detail::Task* const task = require_task("wait_for");
  const base::TimePoint begin = base::Clock::now();
  if (duration.count() > 0) {
    detail::RuntimeCore& core = *task->core;
    const base::TimePoint latest = base::TimePoint::max() - std::chrono::hours(1);
    const base::TimePoint deadline = duration < latest - begin ? begin + duration : latest;
    tasking::prepare_pause(task);
    if (core.timers.wake_at(deadline, task)) {
      // This worker may be long in coming back to look at the time.
      core.idle.wake_one();
    }
    tasking::pause(task, tasking::WaitReason::time);
  } else {
    yield();
  }
  return base::Clock::now() - begin;
}

void yield() {
  detail::Task* const task = require_task("yield");
  if (!tasking::pause_switches()) {
    std::this_thread::yield();
    return;
  }
  tasking::prepare_pause(task);
  tasking::context().worker->yielding(task);
  tasking::pause(task, tasking::WaitReason::yield);
}

bool cancelled() noexcept {
  const detail::Task* const task = tasking::context().task;
  return task != nullptr && tasking::is_cancelled(task);
}

std::string_view label() noexcept {
  const detail::Task* const task = tasking::context().task;
  return task != nullptr ? task->label->text : std::string_view();
}

}  // namespace this_task
}  // namespace dovetail
