#include "tasking/throttle.hpp"

#include "tasking/context.hpp"
#include "tasking/core.hpp"
#include "tasking/pause.hpp"
#include "tasking/worker.hpp"

namespace dovetail::tasking {

std::size_t Throttle::pending(const RuntimeCore& core) const noexcept {
  std::uint64_t made = foreign_made.load(std::memory_order_relaxed);
  std::uint64_t completed = foreign_completed.load(std::memory_order_relaxed);
  for (const auto& worker : core.workers) {
    made += worker->count.made.load(std::memory_order_relaxed);
    completed += worker->count.completed.load(std::memory_order_relaxed);
  }
  return made > completed ? static_cast<std::size_t>(made - completed) : 0;
}

void Throttle::make_way(RuntimeCore& core) {
  if (pending(core) < limit_) {
    return;
  }
  if (Task* task = context().task) {
    prepare_pause(task);
    {
      std::lock_guard lock(mutex_);
      tasks_.push_back(task);
      held_.fetch_add(1, std::memory_order_seq_cst);
    }
    core.idle.notify_from_outside();
    pause(task, WaitReason::throttle);
    return;
  }
  if (context().core != nullptr) {
    return;  // a worker between tasks, in an `onready`: it must go on
  }
  std::unique_lock lock(core.foreign.mutex);
  const std::uint64_t seen = released_foreign_;
  ++foreign_waiting_;
  held_.fetch_add(1, std::memory_order_seq_cst);
  core.idle.notify_from_outside();
  core.foreign.changed.wait(lock, [&] { return released_foreign_ != seen; });
}

void Throttle::release(RuntimeCore& core, bool nothing_runs) noexcept {
  if (!nothing_runs && pending(core) > limit_ / 2) {
    return;
  }
  std::vector<Task*> tasks;
  {
    std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
    held_.fetch_sub(tasks.size(), std::memory_order_seq_cst);
  }
  for (Task* task : tasks) {
    wake(task);
  }
  std::lock_guard lock(core.foreign.mutex);
  if (foreign_waiting_ > 0) {
    held_.fetch_sub(foreign_waiting_, std::memory_order_seq_cst);
    foreign_waiting_ = 0;
    ++released_foreign_;
    core.foreign.changed.notify_all();
  }
}

}  // namespace dovetail::tasking
