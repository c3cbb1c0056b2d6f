#include "tasking/schedule.hpp"

#include <atomic>

#include "base/mutex.hpp"
#include "tasking/cancellation.hpp"
#include "tasking/context.hpp"
#include "tasking/core.hpp"
#include "tasking/executors.hpp"
#include "tasking/gate.hpp"
#include "tasking/task.hpp"
#include "tasking/worker.hpp"
#include "trace/trace.hpp"

namespace dovetail::tasking {
namespace {

// The task may be over, and the runtime be destroyed, as soon as it is in a queue. The runtime waits for its own threads;
// any other has to say that it is still there.
class Visit {
 public:
  Visit(RuntimeCore& core, const ThreadContext& here) noexcept : core_(here.core == &core ? nullptr : &core) {
    if (core_ != nullptr) {
      core_->visitors.fetch_add(1, std::memory_order_seq_cst);
    }
  }
  ~Visit() {
    if (core_ != nullptr) {
      core_->visitors.fetch_sub(1, std::memory_order_release);
    }
  }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

 private:
  RuntimeCore* const core_;
};

void is_ready(Task* task) noexcept {
  trace::ready(trace::number_of(task));
  task->state.store(TaskState::ready, std::memory_order_relaxed);
}

}  // namespace

void schedule(Task* task) noexcept {
  is_ready(task);
  RuntimeCore& core = *task->core;
  const ThreadContext& here = context();
  const Visit visit(core, here);
  Worker* const worker = here.core == &core ? here.worker : nullptr;
  if (task->io && task->fiber == nullptr && !must_not_run(task)) {
    if (core.executors->run_task(task)) {
      return;
    }
    task->io = false;  // no thread can be made: better a worker that blocks than a task that never runs
  }
  if (task->fiber != nullptr && (task->tied || task->wait_reason == WaitReason::system_call)) {
    core.workers[task->home_worker]->push_tied(task);
    return;
  }
  if (task->priority != 0) {
    (task->priority > 0 ? core.queues.urgent : core.queues.deferred).push(task);
    core.idle.wake_one();
    return;
  }
  if (worker != nullptr) {
    if (worker->give_back(task)) {
      return;
    }
    if (here.in_scheduler()) {
      worker->push_next(task);
    } else {
      worker->push(task);
    }
  } else {
    if (task->fiber != nullptr) {
      core.queues.resumed.push(task);
    } else {
      OutsideTasks::Lane& lane = core.queues.outside.own_lane();
      const base::LockGuard lock(lane.lock);
      lane.deque.push(task);
    }
    core.idle.notify();
  }
}

void schedule_plain(Task* task, Worker& worker) noexcept {
  trace::dependencies_met(trace::number_of(task));
  is_ready(task);
  worker.push(task);
}

bool schedule_plain_from_outside(Task* task) {
  RuntimeCore& core = *task->core;
  OutsideTasks::Lane& lane = core.queues.outside.own_lane();
  trace::dependencies_met(trace::number_of(task));
  is_ready(task);
  const base::LockGuard lock(lane.lock);
  lane.deque.push(task);
  core.idle.notify();
  if (!lane.count.count_made() && !core.throttle.is_overrun()) [[likely]] {
    return false;
  }
  const bool is_crowded = core.throttle.is_crowded(core.totals.pending(), Throttle::Spawner::thread);
  if (!is_crowded) {
    core.throttle.end_overrun();
  }
  return is_crowded;
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

}  // namespace dovetail::tasking
