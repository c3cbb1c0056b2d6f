#include "tasking/pause.hpp"

#include <atomic>
#include <string_view>

#include "dovetail/failure.hpp"
#include "tasking/context.hpp"
#include "tasking/core.hpp"
#include "tasking/executors.hpp"
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

constinit std::atomic<const SystemCallPause*> system_call_pause{nullptr};

void switch_away(Task* task, WaitReason reason) {
  if (Worker* worker = context().worker) {
    task->home_worker = worker->index;
    const SystemCallPause* const hooks =
        reason == WaitReason::system_call ? system_call_pause.load(std::memory_order_acquire) : nullptr;
    void* const kept = hooks != nullptr ? hooks->before() : nullptr;
    leave_fiber(*worker, task);
    if (hooks != nullptr) {
      hooks->after(kept);
    }
  } else {
    block_thread(task);
  }
}

}  // namespace

void set_system_call_pause(const SystemCallPause* hooks) noexcept {
  system_call_pause.store(hooks, std::memory_order_release);
}

Task* current_task() noexcept { return context().task; }
Task* task_in_onready() noexcept { return context().onready; }
Task* task_that_binds() noexcept { return current_task() != nullptr ? current_task() : task_in_onready(); }
RuntimeCore* current_runtime() noexcept { return context().core; }
RuntimeCore& runtime_of(const Task* task) noexcept { return *task->core; }
int current_worker() noexcept {
  const Worker* worker = context().worker;
  return worker == nullptr ? -1 : static_cast<int>(worker->index);
}
bool pause_switches() noexcept { return context().worker != nullptr; }

void prepare_pause(Task* task) noexcept {
  // Relaxed: the waker learns of the pause through what is published after this.
  task->pause_state.store(PauseState::running, std::memory_order_relaxed);
}

void pause(Task* task, WaitReason reason, const void* subject) {
  if (task->pause_state.load(std::memory_order_acquire) != PauseState::woken) {
    std::atomic_ref<WaitReason>(task->wait_reason).store(reason, std::memory_order_relaxed);  // reports look at it
    task->wait_subject = subject;
    task->first_look.store(0, std::memory_order_relaxed);
    trace::paused(trace::number_of(task), name_of(reason));
    task->state.store(TaskState::paused, std::memory_order_release);
    switch_away(task, reason);
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

}  // namespace dovetail::tasking
