#include "tasking/waiting.hpp"

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <stdexcept>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "dovetail/task.hpp"
#include "tasking/context.hpp"
#include "tasking/core.hpp"
#include "tasking/failure.hpp"
#include "tasking/label.hpp"
#include "tasking/lifecycle.hpp"
#include "tasking/long_waits.hpp"
#include "tasking/pause.hpp"
#include "tasking/running.hpp"
#include "tasking/search.hpp"
#include "tasking/service_registry.hpp"
#include "tasking/waiting_thread.hpp"
#include "tasking/worker.hpp"

namespace dovetail::tasking {

namespace {

constexpr unsigned deepest_ancestor = 16;

bool descends_from(const Task* task, const Task* ancestor) noexcept {
  const Task* parent = task->parent;
  for (unsigned depth = 0; parent != nullptr && depth < deepest_ancestor; ++depth) {
    if (parent == ancestor) {
      return true;
    }
    parent = parent->parent;
  }
  return false;
}

// Runs, on top of `task`, one task at hand that it waits for anyway: a descendant, or only `awaited` and its descendants.
// Whatever that one waits for, `task` waits for too, so that nothing is lost if both stop on the same stack. A tied task stays
// below nothing that could take its stack to another thread.
bool run_one_descendant(Task* task, const Task* awaited = nullptr) {
  Worker* worker = context().worker;
  if (worker == nullptr || task->tied || !worker->has_stack_for_another() || gives_turn(*worker)) {
    return false;
  }
  Task* candidate = worker->ready.pop();
  if (candidate == nullptr) {
    return false;
  }
  const bool is_waited_for =
      awaited == nullptr ? descends_from(candidate, task) : candidate == awaited || descends_from(candidate, awaited);
  if (candidate->fiber != nullptr || candidate->io || !is_waited_for) {
    worker->push(candidate);
    return false;
  }
  run(*worker, candidate);
  Worker* const here = context().worker;  // perhaps another one
  if (const std::uint32_t completed = here->children.of(task); completed != 0 && completed <= task->children_spawned) {
    // On top of the task that counts them: no other thread has to know.
    task->children_spawned -= completed;
    here->children = {};
  } else {
    flush_children(*here);
  }
  context().task = task;
  return true;
}

enum class Blocked : std::uint8_t { done, reported, interrupted };

// Blocks the thread until `done`, until the runtime is reported as stuck, or until the look of the thread ends the wait. The runtime may be
// gone afterwards, unless another owner keeps it.
template <class Done>
Blocked block_until(RuntimeCore& core, const Done& done) {
  ForeignWaits& foreign = core.foreign;
  WaitingThread thread(&core);
  const ForeignWaits::Stay stay(foreign);
  base::UniqueLock lock(foreign.mutex);
  const std::uint64_t reports = core.stuck.reports();
  core.idle.wake_one();  // a thread waits now: being stuck matters
  expect_long_waits(core);
  bool interrupted = false;
  while (!interrupted && !done() && core.stuck.reports() == reports) {
    const base::TimePoint next_look = thread.next_look();
    if (next_look == base::TimePoint::max()) {
      foreign.changed.wait(lock);
    } else if (base::Clock::now() < next_look) {
      foreign.changed.wait_until(lock, next_look);
    } else {
      lock.unlock();
      interrupted = thread.look();
      lock.lock();
    }
  }
  return interrupted ? Blocked::interrupted : core.stuck.reports() != reports ? Blocked::reported : Blocked::done;
}

// Of a task that has completed.
bool failed_of_being_stuck(const Task* task) noexcept {
  Failure* const failure = task->failure.load(std::memory_order_acquire);
  return failure != nullptr && failure->stems_from_stuck();
}

[[noreturn]] void throw_stuck(RuntimeCore& core) { throw Stuck(core.stuck.report()); }

void block_for_task(Task* task) {
  RuntimeCore& core = *task->core;
  core.require_usable();
  auto* node = new WaitNode;
  node->target = task;
  if (!enlist(task->waiters, node)) {
    delete node;
    return;
  }
  const Blocked blocked =
      block_until(core, [node] { return node->state.load(std::memory_order_acquire) == WaitNode::State::done; });
  const bool given_up = node->end(WaitNode::State::abandoned);
  node->release();
  if (blocked == Blocked::interrupted) {
    throw WaitInterrupted();
  }
  // The task may have been told before this thread got to look, and have failed of it: that is the same report.
  if (given_up || (blocked == Blocked::reported && failed_of_being_stuck(task))) {
    throw_stuck(core);
  }
}

}  // namespace

void refuse_to_wait_for(const std::string& what) {
  throw std::logic_error("a callback or an onready would wait for " + what +
                         ", and tasks may need the thread that it runs on: spawn a task that waits");
}

void require_may_wait_for(const char* what) {
  if (context().must_go_on()) {
    refuse_to_wait_for(what);
  }
}

void wait_for_task(Task* task) {
  Task* const current = context().task;
  if (has_completed(task)) {
    return;
  }
  if (current == nullptr) {
    if (context().must_go_on()) {
      refuse_to_wait_for("task '" + std::string(task->label->text) + "'");
    }
    block_for_task(task);
    return;
  }
  if (task == current) {
    throw std::logic_error("task '" + std::string(task->label->text) + "' waits for itself");
  }
  if (task->parent == current) {
    while (!has_completed(task) && run_one_descendant(current, task)) {
    }
    if (has_completed(task)) {
      return;
    }
  }
  auto* node = new WaitNode;
  node->waiting_task = current;
  node->target = task;
  prepare_pause(current);
  if (!enlist(task->waiters, node)) {
    delete node;
    return;
  }
  try {
    pause(current, WaitReason::task, node);
  } catch (...) {
    node->release();
    throw;
  }
  node->release();
}

void wait_for_children(Task* task) {
  while (!children_done(task)) {
    if (run_one_descendant(task)) {
      continue;
    }
    if (Worker* worker = context().worker) {
      flush_children(*worker);
    }
    task->children_awaited = true;
    prepare_pause(task);
    const std::int64_t spawned = std::exchange(task->children_spawned, 0);
    if (task->children.fetch_add(spawned, std::memory_order_acq_rel) + spawned != 0) {
      pause(task, WaitReason::children);
    }
    break;  // both ways, the published children have completed
  }
  task->children_awaited = false;
  if (task->extra != nullptr && task->extra->domain != nullptr) {
    task->extra->domain->clear();
  }
}

void wait_for_all(RuntimeCore& core) {
  core.require_usable();
  switch (block_until(core, [&core] { return core.root->children.load(std::memory_order_seq_cst) == 0; })) {
    case Blocked::done:
      return;
    case Blocked::reported:
      throw_stuck(core);
    case Blocked::interrupted:
      throw WaitInterrupted();
  }
}

}  // namespace dovetail::tasking

namespace dovetail {
namespace detail {

namespace {

void require_task(const Task* task) {
  if (task == nullptr) {
    throw std::logic_error("this future has no task: it is default-constructed or was moved from");
  }
}

}  // namespace

void wait_task(Task* task) {
  require_task(task);
  tasking::wait_for_task(task);
}

bool task_ready(const Task* task) noexcept { return task != nullptr && tasking::has_completed(task); }

bool call_when_completed(Task* task, std::function<void()>& callback) {
  if (!callback) {
    throw std::invalid_argument("the callback of a future is empty");
  }
  require_task(task);
  if (tasking::has_completed(task)) {
    return false;
  }
  auto* const node = new tasking::WaitNode;
  node->target = task;
  node->references.store(1, std::memory_order_relaxed);  // no waiter shares it
  node->callback = std::move(callback);
  std::atomic<unsigned>& callbacks = task->core->foreign.callbacks;
  callbacks.fetch_add(1, std::memory_order_seq_cst);
  tasking::expect_long_waits(*task->core);  // before others may complete the task, and with it the runtime
  if (!tasking::enlist(task->waiters, node)) {
    callbacks.fetch_sub(1, std::memory_order_relaxed);
    callback = std::move(node->callback);
    delete node;
    return false;
  }
  return true;
}

bool resume_when_completed(Task* task, void* coroutine) {
  std::function<void()> callback = [task, coroutine] {
    spawn_in(task->core, nullptr, [coroutine] { std::coroutine_handle<>::from_address(coroutine).resume(); });
  };
  return call_when_completed(task, callback);
}

void take_task(Task* task) {
  wait_task(task);
  if (tasking::Failure* failure = task->failure.load(std::memory_order_acquire)) {
    failure->tell();
    failure->raise();
  }
}

void cancel_task(Task* task) noexcept {
  if (task == nullptr) {
    return;
  }
  task->cancel_requested.store(true, std::memory_order_seq_cst);
  // Tasks that have not begun have no operations; those that begin from now on see the request.
  const tasking::TaskState state = task->state.load(std::memory_order_seq_cst);
  if (state > tasking::TaskState::created && state < tasking::TaskState::completed) {
    tasking::tell_cancelled(task->core);
  }
}

}  // namespace detail

void wait() {
  detail::Task* const task = tasking::context().task;
  if (task == nullptr) {
    throw std::logic_error(
        "dovetail::wait() waits for the children of a task and was called outside of one; use Runtime::wait()");
  }
  tasking::wait_for_children(task);
  if (tasking::Failure* failure = tasking::take_child_failure(task)) {
    try {
      failure->raise();
    } catch (...) {
      failure->release();
      throw;
    }
  }
}

}  // namespace dovetail
