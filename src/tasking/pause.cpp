#include "tasking/pause.hpp"

#include "dovetail/failure.hpp"
#include "tasking/context.hpp"
#include "tasking/core.hpp"
#include "tasking/failure.hpp"
#include "tasking/lifecycle.hpp"
#include "tasking/running.hpp"
#include "tasking/task.hpp"
#include "tasking/worker.hpp"
#include "trace/trace.hpp"

namespace dovetail::tasking {
namespace {

std::string_view name_of(WaitReason reason) noexcept {
  switch (reason) {
    case WaitReason::none:
      return "nothing";
    case WaitReason::io:
      return "I/O";
    case WaitReason::children:
      return "children";
    case WaitReason::task:
      return "another task";
    case WaitReason::resume:
      return "resume";
    case WaitReason::time:
      return "time";
    case WaitReason::throttle:
      return "throttled spawning";
    case WaitReason::yield:
      return "yield";
    case WaitReason::exclusion:
      return "exclusion";
    case WaitReason::descriptor:
      return "descriptor";
    case WaitReason::semaphore:
      return "semaphore or mutex";
    case WaitReason::latch:
      return "latch";
    case WaitReason::barrier:
      return "barrier";
    case WaitReason::selection:
      return "selection";
    case WaitReason::operation:
      return "operation";
    case WaitReason::system_call:
      return "system call";
  }
  return "?";
}

void block_thread(Task* task) noexcept {
  Executors& executors = *task->core->executors;
  executors.thread_blocks(task);
  PauseState expected = PauseState::running;
  if (task->pause_state.compare_exchange_strong(expected, PauseState::paused, std::memory_order_acq_rel)) {
    task->pause_state.wait(PauseState::paused, std::memory_order_acquire);
  }
  executors.thread_unblocks(task);
}

}  // namespace

Task* current_task() noexcept { return context().task; }
Task* task_in_onready() noexcept { return context().onready; }
RuntimeCore* current_runtime() noexcept { return context().core; }
int current_worker() noexcept {
  const Worker* worker = context().worker;
  return worker == nullptr ? -1 : static_cast<int>(worker->index);
}
bool pause_switches() noexcept { return context().worker != nullptr; }

bool cancel_requested(const Task* task) noexcept { return is_cancelled(task); }

void prepare_pause(Task* task) noexcept {
  // Relaxed: whoever wakes learns of the pause through what is published after this.
  task->pause_state.store(PauseState::running, std::memory_order_relaxed);
}

void pause(Task* task, WaitReason reason, const void* subject) {
  if (task->pause_state.load(std::memory_order_acquire) != PauseState::woken) {
    std::atomic_ref<WaitReason>(task->wait_reason).store(reason, std::memory_order_relaxed);  // reports look at it
    task->wait_subject = subject;
    trace::paused(trace::number_of(task), name_of(reason));
    task->state.store(TaskState::paused, std::memory_order_release);
    if (Worker* worker = context().worker) {
      task->home_worker = worker->index;
      leave_fiber(*worker, task);
    } else {
      block_thread(task);
    }
    context().task = task;
    task->state.store(TaskState::running, std::memory_order_relaxed);
    trace::resumed(trace::number_of(task));
  } else if (context().worker == nullptr) {
    task->core->executors->woken_early();
  }
  if (task->deliver_stuck != 0) [[unlikely]] {
    task->deliver_stuck = 0;
    throw Stuck(task->core->stuck.report());
  }
}

void wake(Task* task) noexcept {
  // Read before the exchange: on an executor, the thread may go on at once, and the task end.
  const bool on_worker = !task->io;
  if (!on_worker) {
    task->core->executors->thread_woken();
  }
  if (task->pause_state.exchange(PauseState::woken, std::memory_order_acq_rel) == PauseState::paused) {
    if (on_worker) {
      schedule(task);
    } else {
      task->pause_state.notify_all();
    }
  }
}

Task* bind_event() noexcept {
  Task* task = context().task;
  if (task == nullptr) {
    task = context().onready;
  }
  if (task != nullptr) {
    task->blockers.fetch_add(1, std::memory_order_relaxed);
  }
  return task;
}

void fulfill_event(Task* task, std::exception_ptr cause) noexcept {
  if (cause) {
    set_failure(task, Failure::of_task(*task, std::move(cause)));
  }
  remove_blockers(task, 1);
}

}  // namespace dovetail::tasking
