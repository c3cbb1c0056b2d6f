#include "tasking/search.hpp"

#include <algorithm>
#include <array>

#include "tasking/core.hpp"
#include "tasking/lifecycle.hpp"
#include "tasking/little_work.hpp"
#include "tasking/service.hpp"
#include "tasking/sleeping.hpp"
#include "tasking/stealing.hpp"
#include "tasking/throttling.hpp"

namespace dovetail::tasking {
namespace {

constexpr unsigned relaxes_after_declining = 64;
// Behind so many tasks with long slices a short one is looked for.
constexpr std::size_t most_passed = 16;
// While long slices run completions are taken before each look, else once in so many.
constexpr std::uint32_t looks_between_polls = 8;
// Reading the clock takes a good part of a short body.
constexpr std::uint32_t looks_between_clocks = 8;

using Batch = std::array<Task*, Deque::largest_batch>;

// Takes over what was put into the batch: one to run, the others into the deque, from where the oldest goes first.
Task* first_of_batch(Worker& worker, const Batch& batch, std::size_t taken) {
  if (taken == 0) {
    return nullptr;
  }
  for (std::size_t i = taken - 1; i >= 1; --i) {
    worker.push(batch[i]);
  }
  return batch[0];
}

Task* take_from(Worker& worker, Turns::Queue queue) {
  switch (queue) {
    case Turns::Queue::urgent:
      return worker.core.queues.urgent.pop(base::Order::in_turn);
    case Turns::Queue::outside:
      return take_from_outside(worker);
    case Turns::Queue::gave_way:
      return worker.core.queues.gave_way.pop();
    case Turns::Queue::given:
      return take_given(worker);
    case Turns::Queue::own:
      return worker.ready.pop_oldest();
    case Turns::Queue::tied:
      return worker.ready.pop_tied();
    case Turns::Queue::deferred:
      return worker.core.queues.deferred.pop(base::Order::in_turn);
  }
  return nullptr;
}

// The order of the looks in `find_task` is the fastest one, but a task could wait for ever behind others that keep coming. In the
// deque the newest goes first, and one queue goes before another. So now and then the oldest task is taken from each of them in turn.
// A resumed task, whose time may have come, goes before that, and the turn comes right behind it.
Task* take_in_turn(Worker& worker) {
  if (worker.turns.resumed_goes_first()) {
    if (Task* task = worker.core.queues.resumed.pop()) {
      worker.turns.resumed_went_first();
      return task;
    }
  }
  for (unsigned tried = 0; tried < Turns::queues; ++tried) {
    if (Task* task = take_from(worker, worker.turns.pass_on())) {
      return task;
    }
  }
  return nullptr;
}

// The task to run before one whose slice may be long: one at hand whose slice will be short, if there is any. A transfer that it
// begins is then under way meanwhile.
Task* short_before(Worker& worker, Task* long_task) {
  std::array<Task*, most_passed> passed_by;
  std::size_t passed = 0;
  Task* found = nullptr;
  while (found == nullptr && passed < most_passed) {
    Task* const task = worker.ready.pop();
    if (task == nullptr) {
      break;
    }
    if (worker.slices.is_surely_short(task)) {
      found = task;
    } else {
      passed_by[passed++] = task;
    }
  }
  while (passed > 0) {
    worker.push(passed_by[--passed]);
  }
  if (found == nullptr) {
    worker.slices.forget_short();
    return long_task;
  }
  worker.push(long_task);
  worker.slices.note_short();
  return found;
}

// One look at this worker's own queues and at those that all workers share.
Task* take_from_queues(Worker& worker) {
  RuntimeCore& core = worker.core;
  if (Task* task = worker.ready.pop_tied()) {
    return task;
  }
  if (Task* task = worker.ready.pop()) {
    return task;
  }
  if (Task* task = take_given(worker)) {
    return task;
  }
  if (Task* task = core.queues.urgent.pop()) {
    return task;
  }
  if (Task* task = core.queues.resumed.pop()) {
    return task;
  }
  if (Task* task = take_from_outside(worker)) {
    return task;
  }
  return core.queues.gave_way.pop();
}

// Whether the worker's own operations, or time, have brought anything.
bool something_has_come(Worker& worker) {
  if (worker.operations.any) {
    // Else the sleep itself hands over what is prepared, if this comes to nothing else: one system call for both. But the last one
    // was over at once, so it was no sleep.
    if (worker.search.sleep_was_none) {
      worker.flush_services();
    }
    if (worker.poll_services(PollScope::own)) {
      if (worker.refuge.has_time()) {
        retreat(worker);
      }
      return true;
    }
    worker.search.sleep_was_none = false;
  }
  return worker.core.reactor.run_due() > 0;
}

void begin_search(Worker& worker) noexcept {
  if (!worker.search.is_counted) {
    worker.search.is_counted = true;
    worker.core.idle.begin_search();
  }
}

// There are tasks that are better left where they are: away from the memory that the other worker is writing, for a moment.
void stay_away(Worker& worker) {
  if (worker.operations.prepared) {
    worker.flush_services();
  }
  for (unsigned i = 0; i < relaxes_after_declining; ++i) {
    base::cpu_relax();
  }
}

bool has_in_flight(const Worker& worker) noexcept {
  const auto& services = worker.core.services;
  return std::any_of(services.begin(), services.end(),
                     [&](const ServiceEntry& entry) { return entry.service->has_in_flight(worker.index); });
}

Task* look_everywhere(Worker& worker) {
  RuntimeCore& core = worker.core;
  for (;;) {
    core.rest_if_abandoned();
    worker.count.tell();
    flush_children(worker);
    if (Task* task = take_from_queues(worker)) {
      return task;
    }
    if (something_has_come(worker)) {
      continue;
    }
    begin_search(worker);
    if (Task* task = steal(worker)) {
      return task;
    }
    if (Task* task = core.queues.deferred.pop()) {
      return task;
    }
    if (worker.poll_services(PollScope::all)) {
      continue;
    }
    if (worker.operations.any && !has_in_flight(worker)) {
      worker.begin_operations(false);
    }
    if (core.throttle.holds_any() && release_spawners_if_idle(core)) {
      continue;
    }
    if (core.stopping.load(std::memory_order_acquire)) {
      return nullptr;
    }
    if (worker.search.declined) {
      stay_away(worker);
    } else {
      sleep(worker);
    }
  }
}

// A task that goes before the one that was to run next, or null.
Task* take_ahead(Worker& worker) {
  if (worker.turns.is_due()) [[unlikely]] {
    worker.turns.plan(worker.bodies.is_long());
    worker.core.reactor.run_due();
    if (Task* task = take_in_turn(worker)) {
      return task;
    }
  }
  if (Task* task = worker.ready.pop_tied()) [[unlikely]] {
    return task;
  }
  if (Task* task = worker.core.queues.urgent.pop()) [[unlikely]] {
    return task;
  }
  return worker.core.queues.resumed.pop();
}

void end_search(Worker& worker) {
  if (worker.search.is_counted) {
    worker.search.is_counted = false;
    // A thread that brought work while this worker looked has woken no worker.
    if (worker.core.idle.end_search() && (worker.ready.size() > 0 || may_be_work(worker))) {
      worker.core.idle.notify();
    }
  }
}

}  // namespace

Task* take_from_outside(Worker& worker) {
  Batch batch;
  const std::size_t taken = worker.core.queues.outside.steal(batch.data(), batch.size());
  if (taken > 0) {
    worker.search.fed_from_outside = true;
  }
  return first_of_batch(worker, batch, taken);
}

Task* take_given(Worker& worker) {
  Batch batch;
  const std::size_t taken = worker.ready.pop_given(batch.data(), batch.size());
  return first_of_batch(worker, batch, taken);
}

bool gives_turn(Worker& worker) noexcept {
  Turns& turns = worker.turns;
  turns.count();
  if (!turns.is_due()) [[likely]] {
    return false;
  }
  if (!worker.core.queues.empty() || worker.ready.holds_given() || turns.is_given_up_on_top()) {
    return true;  // the turn is due at the next look
  }
  turns.plan(worker.bodies.is_long());
  return false;
}

Task* find_task(Worker& worker) {
  RuntimeCore& core = worker.core;
  worker.turns.count();
  core.rest_if_abandoned();
  core.polled.look(worker.bodies.hide_the_clock() || worker.turns.is_one_in(looks_between_clocks));
  if (worker.victims.theft_is_open()) [[unlikely]] {
    worker.victims.judge_theft();
  }
  if (worker.slices.is_measuring()) [[unlikely]] {
    worker.end_slice(base::ticks());
  }
  if (worker.operations.any && (worker.operations.long_slice || worker.turns.is_one_in(looks_between_polls)))
      [[unlikely]] {
    worker.poll_services(PollScope::own);
  }
  if (Task* task = take_ahead(worker)) [[unlikely]] {
    if (worker.ready.put_off_next()) {
      worker.tell_idle_workers();
    }
    return task;
  }
  if (Task* task = worker.ready.pop()) {
    return worker.slices.gives_way(task) ? short_before(worker, task) : task;
  }
  worker.kept.clear();  // they have run
  worker.runs_out_of_work(true);
  Task* task = look_everywhere(worker);
  worker.runs_out_of_work(false);
  core.stuck.activity();
  end_search(worker);
  return task;
}

}  // namespace dovetail::tasking
