#include "tasking/sleeping.hpp"

#include <algorithm>
#include <chrono>

#include "base/process_barrier.hpp"
#include "tasking/context.hpp"
#include "tasking/core.hpp"
#include "tasking/little_work.hpp"
#include "tasking/quiet.hpp"
#include "tasking/service.hpp"
#include "tasking/throttling.hpp"
#include "trace/trace.hpp"

namespace dovetail::tasking {
namespace {

// While other workers run, work is likely to appear within this many looks; sleeping and being woken costs more.
constexpr unsigned looks_before_sleep = 24;
constexpr unsigned relaxes_between_looks = 16;
// Of a worker that lingers: what else than its service it looks at costs more.
constexpr unsigned rounds_between_other_looks = 16;

constexpr std::chrono::milliseconds until_left_alone_is_doubted{1};

// Only while a worker runs, or ran a moment ago, which may spawn: waiting for a disk is no reason to spin.
bool work_may_come_soon(Worker& worker) noexcept {
  const IdleWorkers& idle = worker.core.idle;
  return std::exchange(worker.search.fed_from_outside, false) ||
         idle.count() + idle.searching() < worker.core.workers.size();
}

bool look_on(const Worker& worker) noexcept {
  for (unsigned look = 0; look < looks_before_sleep; ++look) {
    if (may_be_work(worker)) {
      return true;
    }
    for (unsigned i = 0; i < relaxes_between_looks; ++i) {
      base::cpu_relax();
    }
  }
  return false;
}

// Which service asks an idle worker to go on polling, if any does, and for how long.
std::pair<Service*, std::chrono::nanoseconds> longest_linger(const RuntimeCore& core) noexcept {
  std::pair<Service*, std::chrono::nanoseconds> longest{nullptr, 0};
  for (const ServiceEntry& entry : core.services) {
    if (const std::chrono::nanoseconds asked = entry.service->linger(); asked > longest.second) {
      longest = {entry.service.get(), asked};
    }
  }
  return longest;
}

bool is_woken(const Task* task) noexcept {
  return task != nullptr && task->pause_state.load(std::memory_order_acquire) == PauseState::woken;
}

// Returns whether something has come, be it the end of the task's pause.
bool linger(Worker& worker, const Task* paused) {
  RuntimeCore& core = worker.core;
  const auto [service, longest] = longest_linger(core);
  if (service == nullptr || !core.idle.begin_linger()) {
    return false;
  }
  if (worker.operations.prepared) {
    worker.flush_services();
  }
  base::TimePoint end = base::Clock::now() + longest;
  bool found = false;
  bool delivered = false;
  for (unsigned round = 1; !found; ++round) {
    delivered = service->poll(worker.index, PollScope::all) > 0;
    found = delivered || is_woken(paused) || may_be_work(worker);
    if (!found && round % rounds_between_other_looks == 0) {
      core.polled.postpone();
      found = worker.poll_services(PollScope::all) || core.reactor.run_due() > 0;
      if (const base::TimePoint now = base::Clock::now(); !found && service->is_moving()) {
        end = now + longest;
      } else if (!found && now >= end) {
        break;
      }
    }
  }
  core.idle.end_linger();
  if (delivered || !found) {
    service->lingered(delivered);  // else other work came, which says nothing of the service
  }
  return found;
}

bool services_let_sleep(const RuntimeCore& core) noexcept {
  return std::all_of(core.services.begin(), core.services.end(),
                     [](const ServiceEntry& entry) { return entry.service->may_sleep(); });
}

// The one that parks hands over what it has in `park`: one system call for both.
void flush_services_that_do_not_park(const Worker& worker) {
  for (auto& entry : worker.core.services) {
    if (entry.service.get() != worker.core.parking) {
      entry.service->flush(worker.index);
    }
  }
}

// Whether tasks are left to others because they will run in a moment: that is a guess.
bool leaves_tasks_to_others(const Worker& worker) noexcept {
  return std::any_of(worker.victims.begin(), worker.victims.end(),
                     [](const Victims::Victim& victim) { return victim.peer->ready.may_be_stolen_from(); });
}

void park(Worker& worker) {
  RuntimeCore& core = worker.core;
  core.polled.before_sleep();
  worker.fibers.resting.before_sleep();
  note_before_sleep(core);
  expect_spawners(core);
  const bool guessed = leaves_tasks_to_others(worker);
  trace::idle_begin();
  const bool waits_for_tasks = core.totals.pending() > 0;
  if (!waits_for_tasks) {
    core.throttle.rest();
  }
  const std::uint64_t before = base::ticks();
  worker.occupancy.falls_asleep(before);
  worker.sleeper.park(guessed ? base::Clock::now() + until_left_alone_is_doubted : base::TimePoint::max());
  const std::uint64_t now = base::ticks();
  if (waits_for_tasks) {
    core.idle.add_slept(now - before);
  }
  worker.search.sleep_was_none = !worker.occupancy.wakes(now);
  if (worker.occupancy.window_ends(now)) {
    find_refuge(worker, now);
  }
  trace::idle_end();
}

}  // namespace

bool linger_for(Worker& worker, const Task* paused) {
  // A worker that has something to hand over or to measure goes to the scheduler.
  if (!worker.core.polled.begun() || worker.operations.any || worker.ready.size() > 0 || may_be_work(worker)) {
    return false;
  }
  context().task = nullptr;
  worker.search.has_lingered = !linger(worker, paused);
  return is_woken(paused);
}

bool may_be_work(const Worker& worker) noexcept {
  const RuntimeCore& core = worker.core;
  if (!core.queues.empty() || worker.ready.holds_given() || worker.ready.holds_tied() ||
      core.stopping.load(std::memory_order_acquire)) {
    return true;
  }
  return std::any_of(worker.victims.begin(), worker.victims.end(), [&](const Victims::Victim& victim) {
    return victim.peer->ready.may_be_stolen_from() && !is_better_left_alone(worker, *victim.peer, base::ticks());
  });
}

void sleep(Worker& worker) {
  IdleWorkers& idle = worker.core.idle;
  if (worker.operations.prepared) {
    flush_services_that_do_not_park(worker);
  }
  if (work_may_come_soon(worker)) {
    if (worker.operations.prepared) {
      worker.flush_services();
    }
    if (look_on(worker)) {
      return;
    }
  }
  const bool has_lingered = std::exchange(worker.search.has_lingered, false);
  if ((!has_lingered && linger(worker, nullptr)) || !services_let_sleep(worker.core)) {
    return;
  }
  worker.search.is_counted = false;
  idle.end_search();
  if (!worker.operations.any) {
    idle.pushes_with_fence();  // it pushes nothing
  }
  idle.enter(worker.index);
  // The barrier is for workers that are at work and push without a fence. Interrupting processors costs more than many a
  // slice.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (idle.pushing_without_fence() > 0) {
    base::process_wide_barrier();
  }
  if (!may_be_work(worker)) {
    park(worker);
  }
  worker.search.is_counted = !idle.leave(worker.index);
  if (!worker.operations.any) {
    idle.pushes_without_fence();
  }
  if (worker.search.is_counted) {
    worker.refuge.peer = nullptr;  // another worker has more than it can do
  }
}

}  // namespace dovetail::tasking
