#include "tasking/running.hpp"

#include <pthread.h>

#include <cstdio>
#include <exception>
#include <string>
#include <utility>

#include "base/topology.hpp"
#include "tasking/context.hpp"
#include "tasking/core.hpp"
#include "tasking/lifecycle.hpp"
#include "tasking/search.hpp"
#include "tasking/service.hpp"
#include "tasking/sleeping.hpp"
#include "tasking/stack_overflow.hpp"
#include "tasking/thread_identity.hpp"
#include "trace/trace.hpp"

namespace dovetail::tasking {
namespace {

// Short slices after which prepared requests are handed over even if more may come.
constexpr unsigned most_slices_before_flush = 64;
// A task that pauses goes to the next paused one at once, but for one in so many: then the scheduler has a look.
constexpr std::uint32_t pauses_between_looks = 8;

void arrive_nowhere(void*) {}

// Leaves the current fiber, on which nothing lies, for `target`. It rests as soon as it has been left.
void rest_and_switch_to(Worker& worker, fiber::Fiber& target) {
  struct Rest {
    FiberCache* cache;
    fiber::Fiber* fiber;
  } rest{&worker.fibers.resting, worker.fibers.current};
  worker.fibers.current = &target;
  rest.fiber->switch_to(
      target,
      [](void* argument) {
        const Rest arrival = *static_cast<Rest*>(argument);
        arrival.cache->release(arrival.fiber);
      },
      &rest);
}

void begin_slice(Worker& worker, const Task* task, std::uint64_t now) {
  RuntimeCore& core = worker.core;
  Operations& operations = worker.operations;
  const SliceKind kind = Slices::kind_of(task);
  operations.long_slice = worker.slices.may_be_long(kind);
  if (operations.prepared && (operations.long_slice || ++operations.slices_since_flush >= most_slices_before_flush)) {
    worker.flush_services();
    now = base::ticks();
  }
  if (operations.long_slice) {
    if (core.parking != nullptr) {
      core.parking->busy(worker.index, true);
      now = base::ticks();  // that may have woken a worker
    }
    if (worker.kept.clear() || worker.ready.holds_given()) {
      core.idle.notify();
      now = base::ticks();
    }
  }
  worker.slices.begin(kind, now);
  worker.kept.slice_begins(now);
}

void resume(Worker& worker, Task* task) {
  flush_children(worker);
  rest_and_switch_to(worker, *std::exchange(task->fiber, nullptr));
}

void run_one(Worker& worker) {
  Task* task = find_task(worker);
  if (task == nullptr) {
    rest_and_switch_to(worker, *worker.fibers.of_thread);
    return;
  }
  if (worker.operations.any) [[unlikely]] {
    begin_slice(worker, task, base::ticks());
  }
  if (task->fiber != nullptr) {
    resume(worker, task);
  } else {
    run(worker, task);
  }
}

// What every worker fiber runs. It keeps nothing on its stack: a fiber that rests here may go on as another worker.
void fiber_main(void*) {
  for (;;) {
    run_one(*context().worker);
  }
}

void thread_main(Worker& self, int processor) {
  pthread_setname_np(pthread_self(), ("dovetail-" + std::to_string(self.index)).c_str());
  const AlternateStack overflow_stack;
  if (processor >= 0) {
    base::bind_to_processor(static_cast<unsigned>(processor));
  }
  context() = {&self.core, &self, nullptr, nullptr};
  note_thread();
  trace::thread_name(trace::ThreadKind::worker, self.index);
  for (auto& entry : self.core.services) {
    entry.service->thread_started(static_cast<int>(self.index));
  }
  self.core.idle.pushes_without_fence();
  fiber::Fiber thread_fiber;
  self.fibers.of_thread = &thread_fiber;
  self.fibers.current = std::exchange(self.fibers.first, nullptr);
  thread_fiber.switch_to(*self.fibers.current, &arrive_nowhere, nullptr);
  if (!self.operations.any) {
    self.core.idle.pushes_with_fence();
  }
  for (auto& entry : self.core.services) {
    entry.service->thread_stopping(static_cast<int>(self.index));
  }
  context() = {};
}

// The fiber of the task that this worker would run next, if that is paused too. Switching to it directly saves the way through
// the scheduler and one of two switches. Now and then the result is null all the same, so that the scheduler's other duties are
// not starved.
fiber::Fiber* next_paused_fiber(Worker& worker) {
  const SharedQueues& queues = worker.core.queues;
  if (worker.turns.next_is_one_in(pauses_between_looks) || worker.victims.theft_is_open() ||
      worker.ready.holds_tied() || !queues.urgent.empty() || !queues.resumed.empty()) {
    return nullptr;
  }
  const Task* const next = worker.ready.peek();
  if (next == nullptr || next->fiber == nullptr || worker.slices.gives_way(next)) {
    return nullptr;
  }
  worker.turns.count();
  Task* const task = worker.ready.pop();
  // One look at the clock ends one slice and begins the next, since a look takes as long as a good part of the switch.
  const bool measured = worker.slices.is_measuring();
  const std::uint64_t now = worker.operations.any || measured ? base::ticks() : 0;
  if (measured) {
    worker.end_slice(now);
  }
  if (worker.operations.any) {
    begin_slice(worker, task, now);
  }
  return std::exchange(task->fiber, nullptr);
}

// The task has left its fiber: from here on another worker may resume it.
void arrive_from(void* argument) {
  auto* task = static_cast<Task*>(argument);
  Worker& worker = *context().worker;
  if (worker.fibers.yielding == task) {
    worker.fibers.yielding = nullptr;
    if (task->tied) {
      worker.push_tied(task);
    } else {
      worker.core.queues.gave_way.push(task);
    }
    return;
  }
  PauseState expected = PauseState::running;
  if (!task->pause_state.compare_exchange_strong(expected, PauseState::paused, std::memory_order_acq_rel)) {
    schedule(task);
  }
}

Task* take_for_stack(Worker& worker) {
  if (Task* task = worker.ready.pop()) {
    return task;
  }
  if (Task* task = take_from_outside(worker)) {
    return task;
  }
  if (Task* task = take_given(worker)) {
    return task;
  }
  return worker.core.queues.gave_way.pop();
}

// The paused task keeps this stack, and the tasks that run here meanwhile lie on top of it. Such a task can wait for the
// paused one in vain, but doing nothing would be worse.
void run_others_until_woken(Worker& worker, Task* paused) {
  while (paused->pause_state.load(std::memory_order_acquire) != PauseState::woken) {
    worker.flush_services();
    worker.poll_services(PollScope::all);
    worker.core.reactor.run_due();
    Task* task = take_for_stack(worker);
    if (task == nullptr) {
      std::this_thread::yield();
    } else if (task->fiber != nullptr || !worker.has_stack_for_another()) {
      worker.core.queues.gave_way.push(task);
      std::this_thread::yield();
    } else {
      run(worker, task);
      flush_children(worker);
    }
  }
}

}  // namespace

fiber::Fiber::Entry worker_fiber_entry() noexcept { return &fiber_main; }

void start(Worker& worker, int processor) {
  for (auto& other : worker.core.workers) {
    if (other.get() != &worker) {
      worker.victims.add(*other);
    }
  }
  // Here, where the caller can be told that there is no memory.
  worker.fibers.first = worker.fibers.resting.acquire();
  try {
    worker.thread = std::thread([&worker, processor] { thread_main(worker, processor); });
  } catch (...) {
    worker.fibers.resting.release(std::exchange(worker.fibers.first, nullptr));
    throw;
  }
}

void run(Worker& worker, Task* task) {
  if (worker.children.count != 0 && task->parent != worker.children.parent) {
    flush_children(worker);
  }
  worker.bodies.begins();
  run_body(task);
}

void leave_fiber(Worker& worker, Task* paused) {
  worker.bodies.is_interrupted();
  flush_children(worker);
  if (worker.fibers.yielding != paused && linger_for(worker, paused)) {
    return;
  }
  fiber::Fiber* next = nullptr;
  try {
    next = next_paused_fiber(worker);
    if (next == nullptr) {
      next = worker.fibers.resting.acquire();
    }
  } catch (const std::exception& error) {
    // Another thread is going to wake the task, and cannot be told. Wait for that on this stack, and keep completions
    // coming.
    std::fprintf(stderr, "dovetail: worker %u waits instead of switching: %s\n", worker.index, error.what());
    if (worker.fibers.yielding == paused) {
      worker.fibers.yielding = nullptr;
      return;
    }
    run_others_until_woken(worker, paused);
    return;
  }
  fiber::Fiber* const mine = std::exchange(worker.fibers.current, next);
  paused->fiber = mine;
  context().task = nullptr;
  mine->switch_to(*next, &arrive_from, paused);
}

}  // namespace dovetail::tasking
