#include "dovetail/this_task.hpp"

#include <cerrno>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/clock.hpp"
#include "dovetail/failure.hpp"
#include "tasking/cancellation.hpp"
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

ResumeState resumed(ResumeState state) noexcept {
  switch (state) {
    case ResumeState::awaited:
      return ResumeState::none;
    case ResumeState::in_line:
    case ResumeState::in_line_and_kept:
      return ResumeState::in_line_and_kept;
    default:
      return ResumeState::kept;
  }
}

bool wait_for_descriptor(detail::Task* task, int descriptor, std::uint32_t events, std::chrono::nanoseconds at_most) {
  using tasking::DescriptorWait;
  const char* const operation = events == EPOLLIN ? "wait_readable" : "wait_writable";
  auto wait = std::make_shared<DescriptorWait>();
  wait->descriptor = descriptor;
  wait->events = events;
  wait->task = task;
  wait->ended = [task] { tasking::wake(task); };
  tasking::DescriptorWaits& waits = task->core->reactor.descriptors();
  tasking::prepare_pause(task);
  const int error = task->core->reactor.watch(wait);
  if (error == EPERM) {
    return true;  // a file: always ready
  }
  if (error != 0) {
    throw IoError(error, operation, "descriptor " + std::to_string(descriptor), 0, 0);
  }
  std::optional<tasking::Timers::Id> timer;
  if (at_most != std::chrono::nanoseconds::max()) {
    timer = task->core->reactor.call_at(base::deadline_after(base::Clock::now(), at_most),
                                        [&waits, wait] { waits.end(wait, DescriptorWait::End::timed_out); });
  }
  if (tasking::is_cancelled(task)) {
    waits.end(wait, DescriptorWait::End::cancelled);  // asked for before the wait could be found
  }
  tasking::pause(task, tasking::WaitReason::descriptor);
  if (timer) {
    task->core->reactor.cancel(*timer);
  }
  if (wait->end == DescriptorWait::End::cancelled) {
    throw IoError(ECANCELED, operation, "descriptor " + std::to_string(descriptor), 0, 0);
  }
  return wait->end == DescriptorWait::End::ready;
}

}  // namespace

void TaskHandle::resume() const noexcept {
  if (task_ == nullptr) {
    return;
  }
  ResumeState state = task_->resume_state.load(std::memory_order_relaxed);
  // Acquire and release: what happened before the resume is seen after the suspend.
  while (!task_->resume_state.compare_exchange_weak(state, resumed(state), std::memory_order_acq_rel)) {
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
    tasking::prepare_pause(task);
    core.reactor.call_at(base::deadline_after(begin, duration), [task] { tasking::wake(task); });
    tasking::pause(task, tasking::WaitReason::time);
  } else {
    yield();
  }
  return base::Clock::now() - begin;
}

bool wait_readable(int descriptor, std::chrono::nanoseconds at_most) {
  return wait_for_descriptor(require_task("wait_readable"), descriptor, EPOLLIN, at_most);
}

bool wait_writable(int descriptor, std::chrono::nanoseconds at_most) {
  return wait_for_descriptor(require_task("wait_writable"), descriptor, EPOLLOUT, at_most);
}

void yield() {
  detail::Task* const task = require_task("yield");
  if (!tasking::pause_switches()) {
    std::this_thread::yield();
    return;
  }
  tasking::prepare_pause(task);
  tasking::context().worker->fibers.yielding = task;
  tasking::pause(task, tasking::WaitReason::yield);
}

bool cancelled() noexcept {
  const detail::Task* const task = tasking::context().task;
  return task != nullptr && tasking::is_cancelled(task);
}

std::stop_token stop_token() {
  detail::Task* const task = require_task("stop_token");
  std::stop_source source = task->core->stops.source_of(task);
  // Asked after `source_of`: a cancellation from now on finds the source and requests the stop by itself.
  if (tasking::is_cancelled(task)) {
    source.request_stop();
  }
  return source.get_token();
}

std::string_view label() noexcept {
  const detail::Task* const task = tasking::context().task;
  return task != nullptr ? task->label->text : std::string_view();
}

}  // namespace this_task
}  // namespace dovetail
