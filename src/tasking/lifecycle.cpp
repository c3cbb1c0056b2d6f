#include "tasking/lifecycle.hpp"

#include <exception>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "tasking/access_observer.hpp"
#include "tasking/cancellation.hpp"
#include "tasking/context.hpp"
#include "tasking/core.hpp"
#include "tasking/dependency_node.hpp"
#include "tasking/exclusion.hpp"
#include "tasking/failure.hpp"
#include "tasking/gate.hpp"
#include "tasking/label.hpp"
#include "tasking/throttling.hpp"
#include "tasking/waiters.hpp"
#include "tasking/worker.hpp"
#include "trace/trace.hpp"

namespace dovetail::tasking {
namespace {

void set_state(Task* task, TaskState state) noexcept { task->state.store(state, std::memory_order_relaxed); }

void run_onready(Task* task) noexcept {
  set_state(task, TaskState::onready);
  task->starting = true;
  // It belongs to no running task, though the body of one may have led here.
  Task* const outer_task = std::exchange(context().task, nullptr);
  Task* const outer = std::exchange(context().onready, task);
  try {
    task->extra->onready();
  } catch (...) {
    fail(task, std::current_exception());
  }
  context().onready = outer;
  context().task = outer_task;
  remove_blockers(task, 1);
}

// Returns false if the task has been queued on an exclusion that another task holds.
bool take_exclusions(Task* task) noexcept {
  TaskExtra& extra = *task->extra;
  while (extra.exclusions_held < extra.exclusions.size()) {
    // Counted first: once the task is queued, the thread that hands the exclusion over goes on with it.
    Exclusion* exclusion = extra.exclusions[extra.exclusions_held++];
    if (!exclusion->acquire(task)) {
      return false;
    }
  }
  return true;
}

void release_exclusions(Task* task) noexcept {
  TaskExtra& extra = *task->extra;
  for (Exclusion* exclusion : extra.exclusions) {
    if (extra.exclusions_held > 0) {
      --extra.exclusions_held;
      if (Task* next = exclusion->hand_over()) {
        become_ready(next);
      }
    }
    exclusion->release();
  }
  extra.exclusions.clear();
}

void close_node(Task* task, Failure* cause) noexcept {
  std::exchange(task->node, nullptr)->close(cause, [](Task* successor) {
    if (successor->predecessors.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      dependencies_met(successor);
    }
  });
}

// What successors are told of a failure: nothing, if the policy says so and the task's own input was sound.
Failure* cause_for_successors(Task* task, Failure* failure) noexcept {
  const bool ignored = task->extra != nullptr && task->extra->on_failure.action == FailurePolicy::Action::ignore;
  return ignored && !task->poisoned.load(std::memory_order_relaxed) ? nullptr : failure;
}

// Under the failure mutex, which the list does not know; takes over the reference.
void append_failure(std::vector<Failure*>& list, Failure* failure) {
  if (list.size() == list.capacity()) {
    // Failures that `get` has taken meanwhile need no place.
    std::erase_if(list, [](Failure* earlier) {
      const bool taken = earlier->taken();
      if (taken) {
        earlier->release();
      }
      return taken;
    });
  }
  list.push_back(failure);
}

// Tells the parent of the failures of the task's children that no wait took, and of its own.
void report_failures(Task* task, Failure* own) {
  const bool ignored = task->extra != nullptr && task->extra->on_failure.action == FailurePolicy::Action::ignore;
  const base::LockGuard lock(task->core->failures);
  if (task->extra != nullptr) {
    for (Failure* inherited : std::exchange(task->extra->child_failures, {})) {
      if (ignored || inherited == own || inherited->taken()) {
        inherited->release();
      } else {
        append_failure(extra_of(task->parent).child_failures, inherited);
      }
    }
  }
  // The task that failed reports the cause of a cancelled one.
  if (own != nullptr && !ignored && !own->cancelled()) {
    own->retain();
    append_failure(extra_of(task->parent).child_failures, own);
  }
}

void discard_body(Task* task) noexcept {
  if (task->operations->discard_body != nullptr) {
    task->operations->discard_body(detail::frame_of(task));
  }
}

void record_failure(const Task* task, const Failure& failure) noexcept {
  try {
    trace::failed(trace::number_of(task), task->label->text, failure.reason());
  } catch (const std::exception&) {
    trace::failed(trace::number_of(task), task->label->text, "there is no memory to say why");
  }
}

// For the parts that most tasks do not have.
void complete_specials(Task* task, Failure* failure) noexcept {
  if (task->extra != nullptr) {
    if (!task->extra->exclusions.empty()) {
      release_exclusions(task);
    }
    if (task->extra->ticket != nullptr) {
      task->extra->ticket->leave(failure != nullptr);
    }
    task->extra->observed.reset();
    if (task->extra->asked_for_stop_token) {
      task->core->stops.forget(task);
    }
  }
  if (failure != nullptr && trace::enabled()) [[unlikely]] {
    record_failure(task, *failure);
  }
  if (failure != nullptr || (task->extra != nullptr && !task->extra->child_failures.empty())) {
    report_failures(task, failure);
  }
  if (task->node != nullptr) {
    close_node(task, failure == nullptr ? nullptr : cause_for_successors(task, failure));
  }
}

// Completed children of one parent that are told together.
constexpr std::uint32_t most_counted_children = 256;

void count_child(Worker& worker, Task* parent) noexcept {
  if (parent != worker.children.parent || worker.children.count >= most_counted_children) {
    flush_children(worker);
    worker.children.parent = parent;
    if (worker.core.throttle.holds_any()) {
      release_spawners(worker.core);
    }
  }
  ++worker.children.count;
}

// Returns the parent if the caller must still tell it of this child. Telling it here would recurse deeply where many
// generations end at once.
Task* complete(Task* task) noexcept {
  Failure* const failure = task->failure.load(std::memory_order_acquire);
  Task* const parent = task->parent;
  RuntimeCore* const core = task->core;
  discard_body(task);
  if (task->node != nullptr || task->extra != nullptr || failure != nullptr) {
    complete_specials(task, failure);
  }
  trace::completed(trace::number_of(task));
  const ThreadContext& here = context();
  Worker* const worker = here.core == core ? here.worker : nullptr;
  if (worker != nullptr) [[likely]] {
    worker->count.count_completed();
  } else {
    core->totals.add(0, 1);
    if (core->throttle.holds_any()) [[unlikely]] {
      release_spawners(*core);
    }
  }
  set_state(task, TaskState::completed);
  // Without a future nothing waits, but a wait that was given up may still be listed.
  if (task->references.load(std::memory_order_acquire) != 1 ||
      task->waiters.load(std::memory_order_relaxed) != nullptr) {
    tell_waiters(task);
  }
  tasking::release(task);
  if (worker != nullptr && here.in_scheduler()) [[likely]] {
    count_child(*worker, parent);
    return nullptr;
  }
  return parent;  // inside a body it may be long until a count is told
}

// Everything that completion waits for has happened. Returns as `complete`.
Task* finish(Task* task) noexcept {
  Failure* failure = task->failure.load(std::memory_order_acquire);
  if (task->extra != nullptr) [[unlikely]] {
    TaskExtra& extra = *task->extra;
    if (failure == nullptr) {
      // A failure of a child that the body did not take is the task's own.
      const base::LockGuard lock(task->core->failures);
      for (Failure* inherited : extra.child_failures) {
        if (!inherited->taken()) {
          inherited->retain();
          set_failure(task, inherited);
          break;
        }
      }
      failure = task->failure.load(std::memory_order_acquire);
    }
    const bool stopped = is_cancelled(task);
    if (failure != nullptr && task->has_run && extra.attempts < extra.on_failure.retries && !stopped) {
      ++extra.attempts;
      {
        const base::LockGuard lock(task->core->failures);
        for (Failure* inherited : extra.child_failures) {
          inherited->take();
          inherited->release();
        }
        extra.child_failures.clear();
      }
      if (extra.domain != nullptr) {
        extra.domain->clear();  // the next attempt starts from sound data
      }
      task->failure.store(nullptr, std::memory_order_relaxed);
      failure->release();
      task->blockers.store(1, std::memory_order_relaxed);
      schedule(task);
      return nullptr;
    }
  }
  return complete(task);
}

void finish_with_ancestors(Task* task) noexcept {
  if (Task* parent = finish(task)) {
    children_completed(parent, 1);
  }
}

// The body has returned, or will never run.
void returned(Task* task) noexcept {
  set_state(task, TaskState::returned);
  if (task->children_spawned != 0 && !children_done(task)) {
    if (Worker* worker = context().worker) {
      flush_children(*worker);
    }
    task->blockers.fetch_add(1, std::memory_order_relaxed);
    task->children_awaited = false;
    const std::int64_t spawned = std::exchange(task->children_spawned, 0);
    if (task->children.fetch_add(spawned, std::memory_order_acq_rel) + spawned == 0) {
      task->blockers.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  if (task->blockers.load(std::memory_order_acquire) == 1 ||
      task->blockers.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    finish_with_ancestors(task);
  }
}

}  // namespace

void fail(Task* task, std::exception_ptr cause) noexcept {
  set_failure(task, Failure::of_task(*task, std::move(cause), is_cancelled(task)));
}

// A body that must not run is still queued, so that a long chain of cancelled tasks does not become a deep recursion.
void dependencies_met(Task* task) noexcept {
  trace::dependencies_met(trace::number_of(task));
  if (task->extra != nullptr && task->extra->onready && !must_not_run(task)) [[unlikely]] {
    run_onready(task);
  } else {
    become_ready(task);
  }
}

void become_ready(Task* task) noexcept {
  if (task->extra != nullptr) {
    if (!task->extra->exclusions.empty() && !take_exclusions(task)) {
      return;
    }
    if (task->extra->ticket != nullptr && !must_not_run(task)) {
      set_state(task, TaskState::admission);  // before: once it has entered, it may run
      if (!task->extra->ticket->enter()) {
        return;
      }
    }
  }
  schedule(task);
}

void run_body(Task* task) {
  if (must_not_run(task)) [[unlikely]] {
    if (task->failure.load(std::memory_order_relaxed) == nullptr) {
      set_failure(task, Failure::of_cancelled(*task, nullptr));
    }
    context().task = nullptr;
  } else {
    set_state(task, TaskState::running);
    task->has_run = true;
    if (task->extra != nullptr && task->extra->observed != nullptr) [[unlikely]] {
      task->extra->observed->begins();
    }
    context().task = task;
    trace::started(trace::number_of(task), task->label->text);
    try {
      task->operations->run(detail::frame_of(task));
    } catch (...) {
      fail(task, std::current_exception());
    }
    trace::returned(trace::number_of(task));
    ThreadContext& here = context();  // perhaps of another thread now
    here.task = nullptr;
    if (here.worker != nullptr) {
      here.worker->bodies.ends();
    }
  }
  returned(task);
}

void remove_blockers(Task* task, std::uint32_t count) noexcept {
  if (task->blockers.fetch_sub(count, std::memory_order_acq_rel) != count) {
    return;
  }
  if (task->starting) {
    task->starting = false;
    task->blockers.store(1, std::memory_order_relaxed);
    become_ready(task);
  } else {
    finish_with_ancestors(task);
  }
}

namespace {

void root_children_completed(RuntimeCore* core, std::int64_t count) noexcept {
  Task* const root = core->root;
  // The runtime waits for its own threads before it goes. Other threads count under the lock, because a waiter that sees zero
  // may destroy the runtime.
  if (context().core == core && core->foreign.waiting.load(std::memory_order_seq_cst) == 0) {
    if (root->children.fetch_sub(count, std::memory_order_seq_cst) != count ||
        core->foreign.waiting.load(std::memory_order_seq_cst) == 0) {
      return;
    }
    const base::LockGuard lock(core->foreign.mutex);
    core->foreign.changed.notify_all();
    return;
  }
  const base::LockGuard lock(core->foreign.mutex);
  if (root->children.fetch_sub(count, std::memory_order_seq_cst) == count) {
    core->foreign.changed.notify_all();
  }
}

}  // namespace

void children_completed(Task* parent, std::int64_t count) noexcept {
  while (parent != nullptr) {
    RuntimeCore* const core = parent->core;
    if (parent == core->root) {
      root_children_completed(core, count);
      return;
    }
    if (parent->children.fetch_sub(count, std::memory_order_acq_rel) != count) {
      return;
    }
    if (parent->children_awaited) {
      wake(parent);
      return;
    }
    if (parent->blockers.fetch_sub(1, std::memory_order_acq_rel) != 1) {
      return;
    }
    parent = finish(parent);
    count = 1;
  }
}

void flush_children(Worker& worker) noexcept {
  // Again and again: the last child may complete its parent, which then is counted as a child itself.
  while (worker.children.count != 0) {
    const std::uint32_t count = std::exchange(worker.children.count, 0);
    children_completed(std::exchange(worker.children.parent, nullptr), count);
  }
}

void drop_stuck_failures(Task* parent) noexcept {
  if (parent->extra == nullptr) {
    return;
  }
  const base::LockGuard lock(parent->core->failures);
  std::erase_if(parent->extra->child_failures, [](Failure* failure) {
    const bool drop = failure->stems_from_stuck();
    if (drop) {
      failure->origin().take();
      failure->take();
      failure->release();
    }
    return drop;
  });
}

bool children_done(Task* task) noexcept {
  // Nothing has been published since the last wait, so that `children` is minus the number of completed children that the task
  // has been told of.
  if (task->children.load(std::memory_order_acquire) + task->children_spawned != 0) {
    return false;
  }
  task->children.store(0, std::memory_order_relaxed);
  task->children_spawned = 0;
  return true;
}

Failure* take_child_failure(Task* parent) noexcept {
  if (parent->extra == nullptr) {
    return nullptr;
  }
  const base::LockGuard lock(parent->core->failures);
  auto& list = parent->extra->child_failures;
  for (auto entry = list.begin(); entry != list.end();) {
    Failure* failure = *entry;
    entry = list.erase(entry);
    if (failure->origin().take()) {
      failure->take();
      return failure;
    }
    failure->release();
  }
  return nullptr;
}

}  // namespace dovetail::tasking
