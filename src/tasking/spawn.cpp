// From a body and its description to a task that the runtime knows.
#include <stdexcept>

#include "base/mutex.hpp"
#include "dovetail/task.hpp"
#include "tasking/access_observer.hpp"
#include "tasking/context.hpp"
#include "tasking/core.hpp"
#include "tasking/gate.hpp"
#include "tasking/label.hpp"
#include "tasking/lifecycle.hpp"
#include "tasking/pause.hpp"
#include "tasking/throttling.hpp"
#include "tasking/worker.hpp"
#include "trace/trace.hpp"

namespace dovetail::detail {
namespace {

using tasking::context;
using tasking::ThreadContext;
using tasking::Worker;

tasking::DependencyDomain& domain_of(Task* parent) {
  tasking::TaskExtra& extra = tasking::extra_of(parent);
  if (extra.domain == nullptr) {
    extra.domain = std::make_unique<tasking::DependencyDomain>();
  }
  return *extra.domain;
}

[[gnu::cold]] void describe_admission(Task* task, const TaskDescription& description) {
  tasking::Gate* const gate = tasking::find_gate();
  if (gate == nullptr) {
    throw std::invalid_argument("TaskDescription::storage_bw: this build of Dovetail has no admission");
  }
  tasking::extra_of(task).ticket = gate->describe(task, description);
}

void describe(Task* task, const TaskDescription& description) {
  if (!description.label.empty()) {
    bool own = false;
    std::atomic_ref<const tasking::Label*>(task->label)
        .store(tasking::intern_label(description.label, own), std::memory_order_release);
    task->own_label = own ? 1 : 0;
  }
  task->priority = description.priority;
  task->io = description.io;
  task->tied = description.tied;
  const bool special_policy =
      description.on_failure.retries != 0 || description.on_failure.action != FailurePolicy::Action::cancel_successors;
  if (description.onready || special_policy) [[unlikely]] {
    tasking::TaskExtra& extra = tasking::extra_of(task);
    extra.onready = description.onready;
    extra.on_failure = description.on_failure;
  }
  if (description.storage_bw.constrained() || !description.device.empty()) [[unlikely]] {
    describe_admission(task, description);
  }
}

// Regions of memory are of no interest to observers, and most tasks have no others.
bool has_spaces(const AccessList& accesses) noexcept {
  return std::ranges::any_of(accesses, [](const Access& access) { return access.region.space != 0; });
}

[[gnu::cold]] void show_to_observer(Task* task, const AccessList& accesses, tasking::AccessObserver& observer) {
  if (auto observed = observer.spawned(accesses)) {
    tasking::extra_of(task).observed = std::move(observed);
  }
}

tasking::Throttle::Spawner spawner_of(const ThreadContext& here) noexcept {
  return here.task != nullptr ? tasking::Throttle::Spawner::task : tasking::Throttle::Spawner::thread;
}

// Whether the task, once it waits for nothing, just has to be queued.
bool is_plain(const Task* task) noexcept { return task->extra == nullptr && task->priority == 0 && !task->io; }

// Returns whether the task waits for nothing. `refused`: why it must not run; it is let go all the same, since others know of it.
bool enter_accesses(Task* task, const AccessList& accesses, std::exception_ptr& refused) {
  Task* const parent = task->parent;
  try {
    if (tasking::AccessObserver* const observer = task->core->observer.get();
        observer != nullptr && has_spaces(accesses)) [[unlikely]] {
      show_to_observer(task, accesses, *observer);
    }
    RuntimeCore& core = *task->core;  // the task may be over once it is entered
    tasking::DependencyDomain& domain = domain_of(parent);
    std::uint32_t predecessors = 0;
    bool free = false;
    if (parent == core.root) {
      const base::LockGuard lock(domain.lock());
      free = domain.enter(task, accesses, predecessors, refused);
    } else {
      free = domain.enter(task, accesses, predecessors, refused);
    }
    core.throttle.count_predecessors(predecessors, core.totals, core.workers.size());
    return free;
  } catch (...) {
    task->poisoned.store(true, std::memory_order_relaxed);
    refused = std::current_exception();
    return true;
  }
}

}  // namespace

Created create_task(RuntimeCore* core, const BodyOperations& operations, std::size_t frame_size,
                    const TaskDescription* description) {
  ThreadContext& here = context();
  Task* parent = nullptr;
  if (core == nullptr) {
    parent = here.task;
    if (parent == nullptr) [[unlikely]] {
      throw std::logic_error(
          "dovetail::spawn() makes a child of the current task and was called outside of one; "
          "use Runtime::spawn()");
    }
    core = parent->core;
  } else {
    parent = core->root;
    core->require_usable();
  }
  Task* const task = tasking::make_task(core, parent, &operations, frame_size);
  if (description != nullptr) {
    try {
      describe(task, *description);
    } catch (...) {
      tasking::free_task(task);
      throw;
    }
  }
  if (parent == core->root) {
    task->cancel_epoch = core->cancel_epoch.load(std::memory_order_relaxed);
  }
  trace::created(trace::number_of(task));
  return {task, task->extra == nullptr ? task->block_frame() : frame_of(task)};
}

void abandon_task(Task* task) noexcept { tasking::free_task(task); }

bool submit_task(Task* task, const TaskDescription* description) {
  ThreadContext& here = context();
  RuntimeCore& core = *task->core;
  Worker* const worker = here.core == &core ? here.worker : nullptr;
  if (worker != nullptr) {
    task->home_worker = worker->index;
  }
  // Before the task is let go: from then on it may be over at any time, and gone but for the caller's reference.
  tasking::count_spawned(task->parent, here.task);
  const bool from_body = worker != nullptr && here.task != nullptr;
  std::exception_ptr refused;
  if (description == nullptr && from_body) [[likely]] {
    tasking::schedule_plain(task, *worker);
  } else if (description == nullptr || description->access.empty() ||
             enter_accesses(task, description->access, refused)) {
    if (worker == nullptr && is_plain(task) && !refused) {
      return tasking::schedule_plain_from_outside(task);
    }
    if (from_body && is_plain(task)) {
      tasking::schedule_plain(task, *worker);
    } else {
      tasking::dependencies_met(task);
    }
  }
  bool looks = true;
  if (worker != nullptr) {
    looks = worker->count.count_made();
  } else {
    core.totals.add(1, 0);
  }
  if (refused) [[unlikely]] {
    std::rethrow_exception(std::move(refused));
  }
  return looks && core.throttle.is_crowded(core.totals.pending(), spawner_of(here));
}

void make_way(const Task* spawned) {
  RuntimeCore& core = *spawned->core;
  const tasking::Throttle::Spawner spawner = spawner_of(context());
  const auto is_crowded = [&core, spawner] { return core.throttle.is_crowded(core.totals.pending(), spawner); };
  if (!is_crowded()) {
    return;
  }
  core.throttle.adapt(core.totals, core.idle, core.workers.size());
  if (!is_crowded()) {
    return;
  }
  if (Task* const task = context().task) {
    tasking::prepare_pause(task);
    core.throttle.hold(task);
    if (context().worker == nullptr || context().core != &core) {
      core.idle
          .notify();  // neither an executor nor a worker of another runtime looks again; a worker releases, or has the reactor look
    }
    tasking::pause(task, tasking::WaitReason::throttle);
  } else if (context().core == nullptr) {
    tasking::hold_thread(core);
  }  // else a worker between tasks, in an `onready`: it must go on
}

}  // namespace dovetail::detail
